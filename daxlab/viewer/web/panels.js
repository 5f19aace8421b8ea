"use strict";
// Draws one moment, given as plain data (daxlab/viewer/panels.py). The live page and the replay file share it.
const Panels = (() => {
  const $ = (id) => document.getElementById(id);
  const COLOURS = ["#ff9f7a", "#7cc7ff", "#b8e986", "#d6a6ff", "#ffe08a", "#7ee0cf", "#ff9fc6", "#c9d0dc"];
  const pictures = new Map();

  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "rect", "circle", "path", "polyline", "text", "clipPath"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const colour = (slot) => COLOURS[slot % COLOURS.length];

  function speech(frame) {
    const at = frame.text.lastIndexOf(" ") + 1;
    const box = $("text");
    if (box.dataset.said === frame.text) return;
    box.dataset.said = frame.text;
    // A name is the last word, or, where a thing is to be put, the fourth.
    const words = frame.text.split(" ");
    const name = words[0] === "Put" ? words[2] : frame.text.slice(at);
    box.replaceChildren();
    if (!frame.text) return;
    box.append("“");
    words.forEach((word, i) => box.append(i ? " " : "", word === name ? make("b", {}, word) : word));
    box.append("”");
  }

  function stage(frame) {
    $("view").src = frame.view;
    set($("phase"), frame.phase);
    $("phase").className = frame.phase;
    set($("count"), `step ${frame.clock} of at most ${frame.limit} · return ${frame.total.toFixed(1)}`);
    set($("reward"), frame.earned ? `${frame.earned > 0 ? "+" : ""}${frame.earned.toFixed(1)}` : "");
    $("reward").className = frame.earned < 0 ? "loss" : "";
    $("reticle").className = frame.held >= 0 ? "holds" : frame.fixated ? "named" : "";
    speech(frame);
    const banner = $("outcome");
    banner.className = frame.outcome ? `on ${frame.outcome}` : "";
    banner.replaceChildren(...(frame.outcome ? [make("strong", {}, frame.outcome), frame.verdict] : []));
  }

  function map(plan) {
    const svg = $("map");
    if (!plan) { svg.replaceChildren(); return; }
    const [w, d] = plan.room, edge = 0.12;
    svg.setAttribute("viewBox", `${-w - edge} ${-d - edge} ${2 * (w + edge)} ${2 * (d + edge)}`);
    const walls = { x: -w, y: -d, width: 2 * w, height: 2 * d, rx: 0.06 };
    const nodes = [make("clipPath", { id: "walls" }, make("rect", walls)), make("rect", { ...walls, fill: "#2d2b2a", stroke: "#596273", "stroke-width": 0.06 })];
    for (const { name, low, high } of plan.furniture) {
      nodes.push(make("rect", { x: low[0], y: -high[1], width: high[0] - low[0], height: high[1] - low[1], rx: 0.05, fill: "#4b4238", stroke: "#6f604f", "stroke-width": 0.02 }));
      nodes.push(make("text", { class: "thing", x: (low[0] + high[0]) / 2, y: -(low[1] + high[1]) / 2 + 0.05 }, name));
    }
    const [x, y, heading] = plan.agent, far = 2.6, half = plan.half_view;
    const ray = (angle) => `${x + far * Math.sin(heading + angle)} ${-y - far * Math.cos(heading + angle)}`;
    nodes.push(make("path", { d: `M${x} ${-y}L${ray(-half)}A${far} ${far} 0 0 1 ${ray(half)}Z`, fill: "#ffd03026", "clip-path": "url(#walls)" }));
    nodes.push(make("polyline", { points: plan.trail.map(([a, b]) => `${a},${-b}`).join(" "), fill: "none", stroke: "#ffd03099", "stroke-width": 0.035, "stroke-linejoin": "round" }));
    const labels = [];
    for (const o of plan.objects) {
      if (!o.there) continue;
      const [a, b] = o.at;
      if (o.asked) nodes.push(make("circle", { cx: a, cy: -b, r: o.radius + 0.12, fill: "none", stroke: "#ee8f34", "stroke-width": 0.05, "stroke-dasharray": ".12 .07" }));
      nodes.push(make("circle", { cx: a, cy: -b, r: Math.max(o.radius, 0.1), fill: colour(o.slot), stroke: o.held || o.seen ? "#fff" : "#0007", "stroke-width": o.held || o.seen ? 0.06 : 0.02 }));
      const up = -b - o.radius - 0.45 < -d ? o.radius + 0.28 : -o.radius - 0.3;
      const inside = Math.min(Math.max(a, -w + 0.4), w - 0.4);
      labels.push(make("text", { x: inside, y: -b + up }, o.name));
      if (o.thing !== o.name) labels.push(make("text", { class: "thing", x: inside, y: -b + up + 0.18 }, o.thing));
    }
    const turn = (heading * 180) / Math.PI;
    nodes.push(make("path", { d: "M0 -.24L.17 .18L0 .1L-.17 .18Z", transform: `translate(${x} ${-y}) rotate(${turn})`, fill: "#ffd030", stroke: "#3a2f00", "stroke-width": 0.025 }));
    svg.replaceChildren(...nodes, ...labels);
  }

  function policy(frame) {
    const mind = frame.mind;
    $("value").replaceChildren(...(mind ? ["it expects ", make("b", {}, mind.value.toFixed(2))] : []));
    if (!mind) {
      const why = frame.pending ? `${frame.pending} …` : frame.note || `no policy to show: ${who(frame)}`;
      $("bars").replaceChildren(make("p", {}, why), ...(frame.led ? [make("p", {}, "came here by ", make("code", {}, frame.led))] : []));
      return;
    }
    $("bars").replaceChildren(...mind.bars.map(({ action, p, taken }) => {
      const bar = make("div", { class: taken ? "bar taken" : "bar", style: `--p:${p}` }, make("code", { title: action }, action), make("i"), make("span", {}, p.toFixed(2)));
      return bar;
    }), ...(mind.actions > mind.bars.length ? [make("p", {}, `of ${mind.actions} actions; the lit one is drawn`)] : []));
  }

  const who = (frame) => ({
    you: "you decide, by the keys below the view",
    expert: "the expert is a script that sees the state itself",
    random: "actions are drawn at random",
    "random-object": "a script that picks an object at random",
  })[frame.actor] || "this actor is a script";

  function memory(frame, clear) {
    const held = frame.mind && frame.mind.memory;
    const strip = $("strip");
    $("forget").disabled = !held;
    if (!held) {
      set($("rows"), "");
      const why = frame.pending ? `${frame.pending} …` : frame.mind ? "this agent has no memory but its state" : `no memory to show: ${who(frame)}`;
      strip.replaceChildren(make("p", {}, why));
      return;
    }
    set($("rows"), `${held.rows} view${held.rows === 1 ? "" : "s"} written, below the text that keys them; lit by their share of what is read now`);
    strip.replaceChildren(...(held.groups.length ? [] : [make("p", {}, "nothing written yet: look at an object and its name is heard")]), ...held.groups.map((group) => {
      const rows = group.rows.map(({ step, share, picture }) => {
        const thumb = make("div", { class: "thumb", style: `--r:${Math.sqrt(share)}`, "data-step": step }, make("img", { class: "crisp", src: pictures.get(picture) || "", alt: `view of step ${step}` }), make("small", {}, String(step)), make("em", {}, share >= 0.005 ? share.toFixed(2) : ""));
        if (clear) {
          const button = make("button", { title: `clear the row of step ${step}`, "aria-label": `clear the row of step ${step}` }, "×");
          button.onclick = () => clear(step);
          thumb.append(button);
        }
        return thumb;
      });
      const hidden = group.count - group.rows.length;
      const at = group.text.lastIndexOf(" ");
      const said = group.text ? [group.text.slice(0, at + 1), make("b", {}, group.word)] : ["no words"];
      return make("div", { class: "group", style: `--p:${group.share}`, "data-word": group.word },
        make("h3", {}, make("div", {}, ...said), ...(hidden ? [`+ ${hidden} more`] : []), make("span", {}, group.share >= 0.005 ? group.share.toFixed(2) : "")), make("div", { class: "row" }, ...rows));
    }));
  }

  function objects(frame, change) {
    const rows = frame.map ? frame.map.objects : [];
    const said = JSON.stringify([rows.map((o) => [o.slot, o.name, o.thing, o.asked]), frame.changes]);
    const table = $("objects");
    // Not while somebody types in it, and not for nothing.
    if (table.dataset.said === said || table.contains(document.activeElement) && document.activeElement.type === "text") return;
    // Ticks are of things: another room has none.
    const things = rows.map((o) => o.thing).join();
    const ticked = new Set(table.dataset.things === things ? [...table.querySelectorAll("input:checked")].map((box) => box.value) : []);
    Object.assign(table.dataset, { said, things });
    table.replaceChildren(...rows.map((o) => {
      const tick = make("input", { type: "checkbox", value: o.slot, "aria-label": `tick the ${o.name}` });
      tick.checked = ticked.has(String(o.slot));
      const name = make("input", { type: "text", value: o.name, list: "words", "aria-label": `name of the ${o.thing}` });
      name.onchange = () => { const word = name.value.trim().toLowerCase(); name.blur(); change(o.slot, word); };
      return make("tr", {}, make("td", {}, tick), make("td", {}, make("span", { class: "chip", style: `background:${colour(o.slot)}` })), make("td", {}, name), make("td", { class: o.asked ? "asked" : "" }, o.thing + (o.asked ? " – asked for" : "")));
    }));
    $("changes").replaceChildren(...frame.changes.map((line) => make("li", {}, line)));
  }

  function draw(frame, on = {}) {
    for (const [key, address] of Object.entries(frame.pictures || {})) pictures.set(key, address);
    stage(frame);
    $("seen").src = pictures.get(frame.seen) || "";
    set($("pixels"), frame.size ? `${frame.size[0]} × ${frame.size[1]} pixels` : "");
    map(frame.map);
    policy(frame);
    memory(frame, on.clear);
    if (on.rename) objects(frame, on.rename);
    const slider = $("slider");
    slider.max = frame.length - 1;
    slider.value = frame.index;
    set($("moment"), `${frame.index} / ${frame.length - 1}`);
    Object.assign(document.body.dataset, { index: frame.index, length: frame.length, clock: frame.clock, outcome: frame.outcome, phase: frame.phase, minded: Boolean(frame.mind) });
  }

  return { draw, pictures, $, make };
})();
