"use strict";
// The live page: asks the server for one moment after another, and for what the person wants changed.
(() => {
  const { $, make, draw, pictures } = Panels;
  let session = null, frame = null, playing = false, human = false, drawn = 0, poll = 0, toastEnds = 0;
  let queue = Promise.resolve();
  const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
  const mine = () => frame && frame.actor === "you";
  const ended = () => frame && frame.outcome !== "" && frame.index === frame.length - 1;

  function toast(sentence) {
    $("toast").textContent = sentence;
    $("toast").className = "on";
    clearTimeout(toastEnds);
    toastEnds = setTimeout(() => { $("toast").className = ""; }, 7000);
  }

  async function post(command, fields = {}) {
    const answer = await fetch(`/api/${command}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ session, ...fields }) });
    return [answer.status, await answer.json()];
  }

  async function open() {
    const [status, told] = await post("open");
    if (status !== 200) throw new Error(told.error);
    session = told.session;
    human = told.human;
    pictures.clear();
    document.body.classList.toggle("human", human);
    fill($("actor"), told.actors);
    fill($("level"), told.levels);
    $("words").replaceChildren(...told.words.map((word) => make("option", { value: word })));
  }
  function fill(select, names) { select.replaceChildren(...names.map((name) => make("option", { value: name }, name))); }

  // One question at a time; what is being compiled is asked for again until it is there.
  function ask(command, fields = {}) {
    queue = queue.then(() => settle(command, fields)).catch((error) => { playing = false; mark(); toast(`no answer from daxlab: ${error.message}; is it still running?`); return false; });
    return queue;
  }
  async function settle(command, fields) {
    for (;;) {
      const [status, told] = await post(command, fields);
      if (status === 202) { $("wait").textContent = `${told.wait} …`; await sleep(300); continue; }
      $("wait").textContent = "";
      if (status === 410) {
        const last = frame;
        await open();
        if (last && !human) { command = "choose"; fields = { actor: last.actor, level: last.level, seed: last.seed }; toast("the session had ended; the episode begins again"); }
        continue;
      }
      if (status !== 200) { playing = false; mark(); toast(told.error); chosen(); return false; }
      frame = told;
      show();
      return true;
    }
  }

  function show() {
    draw(frame, { clear: (step) => change("forget", { steps: [step] }), rename: (slot, word) => change("rename", { slot, word }) });
    if (ended()) $("outcome").append(make("small", {}, "N, or a click here: the next episode"));
    document.body.dataset.drawn = ++drawn;
    chosen();
    mark();
    clearTimeout(poll);
    // The picture is there before the agent's program is: look again for its thoughts.
    if (frame.pending && !playing) poll = setTimeout(() => ask("show"), 400);
  }
  function chosen() {
    if (!frame) return;
    $("actor").value = frame.actor;
    // The level that an agent was trained on may be nobody else's.
    if (![...$("level").options].some((option) => option.value === frame.level)) $("level").append(make("option", { value: frame.level }, frame.level));
    $("level").value = frame.level;
    if (document.activeElement !== $("seed")) $("seed").value = frame.seed;
    $("about").textContent = frame.score || (mine() && ended() ? (frame.fair ? "played as an agent plays" : "not as an agent plays: something was changed or tried again") : "");
  }
  function mark() {
    $("play").classList.toggle("on", playing);
    $("frame").classList.toggle("mine", Boolean(mine()));
    $("keys").hidden = !mine();
    $("start").textContent = mine() && !playing && frame.index === 0 && frame.length === 1 ? "press any key below, or click the view, to begin" : "";
    $("swap").disabled = [...$("objects").querySelectorAll("input:checked")].length !== 2;
    document.body.dataset.playing = playing;
  }

  async function loop() {
    for (;;) {
      if (!playing || !frame) { await sleep(30); continue; }
      const began = performance.now();
      if (ended()) {
        playing = false;
        mark();
        if (!mine()) { await sleep(2500); if (!playing && ended()) { await ask("choose", { seed: frame.seed + 1 }); playing = true; mark(); } }
        continue;
      }
      await ask(mine() ? "act" : "step", mine() ? { controls: controls() } : {});
      const pace = mine() ? Math.min(10, Number($("speed").value)) : Number($("speed").value);
      await sleep(Math.max(0, 1000 / pace - (performance.now() - began)));
    }
  }
  function play(on) { playing = on && !(ended() && mine()); mark(); }
  function change(command, fields) { play(false); return ask(command, fields); }
  function once() { playing = false; return ask(mine() && frame.index === frame.length - 1 ? "act" : "step", mine() ? { controls: controls() } : {}); }
  function seek(index) { playing = false; return ask("seek", { index: Math.max(0, Math.min(frame.length - 1, index)) }); }
  function next() { return begin(human ? {} : { seed: frame.seed + 1 }); }
  function begin(fields) { play(false); return ask("choose", fields); }

  // The nine degrees of freedom. Each key adds to one of them; Shift is gentle.
  const NAMES = ["MOVE_RIGHT", "MOVE_FORWARD", "LOOK_RIGHT", "LOOK_DOWN", "SPIN_RIGHT", "SPIN_UP", "SPIN_FORWARD", "PULL", "GRAB"];
  const KEYS = {
    KeyD: ["MOVE_RIGHT", 1], KeyA: ["MOVE_RIGHT", -1], KeyW: ["MOVE_FORWARD", 1], KeyS: ["MOVE_FORWARD", -1],
    ArrowRight: ["LOOK_RIGHT", 1], ArrowLeft: ["LOOK_RIGHT", -1], ArrowDown: ["LOOK_DOWN", 1], ArrowUp: ["LOOK_DOWN", -1],
    KeyI: ["SPIN_RIGHT", 1], KeyK: ["SPIN_RIGHT", -1], KeyL: ["SPIN_UP", 1], KeyJ: ["SPIN_UP", -1],
    KeyO: ["SPIN_FORWARD", 1], KeyU: ["SPIN_FORWARD", -1], KeyR: ["PULL", 1], KeyF: ["PULL", -1], Space: ["GRAB", 1],
  };
  const LEGEND = [["walk", "KeyW KeyA KeyS KeyD"], ["look", "ArrowLeft ArrowUp ArrowDown ArrowRight"], ["grip (hold)", "Space"], ["pull, push", "KeyR KeyF"], ["turn what you hold", "KeyJ KeyL KeyI KeyK KeyU KeyO"]];
  const CAPS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Space: "space" };
  const held = new Set(), drag = { LOOK_RIGHT: 0, LOOK_DOWN: 0, PULL: 0 };
  let gentle = false, button = false;

  function controls() {
    const value = Object.fromEntries(NAMES.map((name) => [name, 0]));
    for (const code of held) { const [name, sign] = KEYS[code]; value[name] += sign * (gentle && name !== "GRAB" ? 0.2 : 1); }
    for (const name of Object.keys(drag)) {
      const taken = Math.max(-1, Math.min(1, drag[name]));
      drag[name] = Math.max(-1, Math.min(1, drag[name] - taken));
      value[name] += taken;
    }
    if (button) value.GRAB = 1;
    return NAMES.map((name) => Math.max(-1, Math.min(1, value[name])));
  }
  function legend() {
    $("keys").replaceChildren(...LEGEND.map(([what, codes]) => make("span", {}, ...codes.split(" ").map((code) => make("kbd", { "data-code": code }, CAPS[code] || code.slice(3))), ` ${what}`)), make("span", {}, make("kbd", {}, "shift"), " gently"), make("span", {}, "mouse: click, then look; its button grips, its wheel pulls and pushes"), make("span", {}, make("kbd", {}, "P"), " pause ", make("kbd", {}, "."), " one step"));
  }
  const lit = (code, on) => { const cap = document.querySelector(`kbd[data-code=${code}]`); if (cap) cap.classList.toggle("on", on); };
  const typing = (event) => ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "range" && event.target.type !== "checkbox";

  addEventListener("keydown", (event) => {
    if (!frame || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    gentle = event.shiftKey;
    if (mine() && KEYS[event.code]) {
      event.preventDefault();
      held.add(event.code);
      lit(event.code, true);
      if (!playing && frame.length === 1 && !event.repeat) play(true);
      return;
    }
    const does = { KeyP: () => play(!playing), Period: once, Home: () => seek(0), KeyN: next };
    if (!mine()) Object.assign(does, { Space: () => play(!playing), ArrowRight: once, ArrowLeft: () => seek(frame.index - 1) });
    if (does[event.code] && !(event.target.tagName === "BUTTON" && event.code === "Space")) { event.preventDefault(); does[event.code](); }
  });
  addEventListener("keyup", (event) => { gentle = event.shiftKey; held.delete(event.code); lit(event.code, false); });
  addEventListener("blur", () => { held.forEach((code) => lit(code, false)); held.clear(); button = false; });
  $("frame").addEventListener("mousedown", (event) => {
    if (!mine()) return;
    event.preventDefault();
    if (document.pointerLockElement === $("frame")) { button = true; return; }
    if (document.activeElement) document.activeElement.blur();
    const locked = $("frame").requestPointerLock && $("frame").requestPointerLock();
    if (locked && locked.catch) locked.catch(() => {});
    if (!playing && frame.length === 1) play(true);
  });
  addEventListener("mouseup", () => { button = false; });
  addEventListener("mousemove", (event) => {
    if (document.pointerLockElement !== $("frame")) return;
    // 0.003 radians a pixel; a strength of 1 turns the head by 0.40 and tilts it by 0.23 until it stands still.
    drag.LOOK_RIGHT += event.movementX * 0.0075;
    drag.LOOK_DOWN += event.movementY * 0.013;
  });
  $("frame").addEventListener("wheel", (event) => { if (mine()) { event.preventDefault(); drag.PULL += Math.sign(event.deltaY) * 0.5; } }, { passive: false });

  $("play").onclick = () => play(!playing);
  $("step").onclick = once;
  $("back").onclick = () => seek(frame.index - 1);
  $("first").onclick = () => seek(0);
  $("slider").oninput = (event) => seek(Number(event.target.value));
  $("actor").onchange = (event) => { event.target.blur(); begin({ actor: event.target.value }); };
  $("level").onchange = (event) => { event.target.blur(); begin({ level: event.target.value }); };
  $("seed").onchange = (event) => { event.target.blur(); begin({ seed: Number(event.target.value) }); };
  $("next").onclick = (event) => { event.target.blur(); next(); };
  $("outcome").onclick = next;
  $("choices").onsubmit = (event) => event.preventDefault();
  $("another").onclick = () => change("another");
  $("forget").onclick = () => change("forget");
  $("objects").addEventListener("change", mark);
  $("swap").onclick = () => {
    const [slot, other] = [...$("objects").querySelectorAll("input:checked")].map((box) => Number(box.value));
    return change("swap", { slot, other });
  };
  addEventListener("pagehide", () => { if (session) navigator.sendBeacon("/api/close", new Blob([JSON.stringify({ session })], { type: "application/json" })); });
  setInterval(() => { if (!playing && session) ask("show"); }, 30000);

  legend();
  $("wait").textContent = "opening the room …";
  queue = open().then(() => settle("show", {})).catch((error) => toast(error.message));
  loop();
})();
