"use strict";
// A replay: every moment is in this file.
(() => {
  const { $, draw, pictures } = Panels;
  const { title, frames, pictures: all } = REPLAY;
  let at = 0, playing = false, last = 0;
  for (const [key, address] of Object.entries(all)) pictures.set(key, address);
  document.body.classList.add("replay");
  document.title = `daxlab: ${title}`;
  $("about").textContent = title;
  function show(index) {
    at = Math.max(0, Math.min(frames.length - 1, index));
    draw({ ...frames[at], index: at, length: frames.length });
    document.body.dataset.drawn = Number(document.body.dataset.drawn || 0) + 1;
  }
  function play(on) { playing = on; if (on && at === frames.length - 1) show(0); $("play").classList.toggle("on", playing); }
  function tick(now) {
    if (playing && now - last >= 1000 / Math.min(60, Number($("speed").value))) { last = now; if (at < frames.length - 1) show(at + 1); else play(false); }
    requestAnimationFrame(tick);
  }
  $("play").onclick = () => play(!playing);
  $("step").onclick = () => { play(false); show(at + 1); };
  $("back").onclick = () => { play(false); show(at - 1); };
  $("first").onclick = () => { play(false); show(0); };
  $("slider").oninput = (event) => { play(false); show(Number(event.target.value)); };
  addEventListener("keydown", (event) => {
    const does = { Space: () => play(!playing), ArrowRight: $("step").onclick, ArrowLeft: $("back").onclick, Home: $("first").onclick };
    if (does[event.code] && event.target.tagName !== "SELECT") { event.preventDefault(); does[event.code](); }
  });
  show(0);
  requestAnimationFrame(tick);
})();
