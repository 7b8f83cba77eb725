"use strict";
// The messages of a session between two lanes: pointed at or stepped through, zoomed and moved.
(() => {
  const figure = document.getElementById("sequence");
  if (!figure) return;
  const sessions = JSON.parse(document.getElementById("diagrams").textContent);
  const stage = figure.querySelector(".stage");
  const told = figure.querySelector(".told");
  const tables = document.querySelectorAll("table.messages");
  const CLIENT = 108, SERVER = 190, LEFT = 14, RIGHT = 70, NARROWEST = 0.002, NEAR = 24, ROOM = 30;
  let session, rows, start, span, chosen, drag;

  const width = () => stage.clientWidth;
  const x = (place) => LEFT + ((place - start) / span) * (width() - LEFT - RIGHT);
  const visible = (at) => at > LEFT - 1 && at < width() - RIGHT + 1;

  function node(name, attributes, parent, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  function open(number) {
    session = sessions[number];
    rows = tables[number].tBodies[0].rows;
    chosen = -1;
    const fit = session.messages[Math.floor(width() / ROOM)];
    look(0, fit ? fit.place : 1);
    tell();
  }

  function look(from, over) {
    span = Math.min(1, Math.max(NARROWEST, over));
    start = Math.min(1 - span, Math.max(0, from));
    draw();
  }

  // Zoom by a factor around a place that keeps where it is.
  const zoom = (factor, place = start + span / 2) => {
    const over = Math.min(1, Math.max(NARROWEST, span * factor));
    look(place - ((place - start) * over) / span, over);
  };

  function draw() {
    const svg = node("svg", { width: width(), height: stage.clientHeight, role: "img", "aria-label": `${session.messages.length} messages of ${session.cell}` }, document.createDocumentFragment());
    for (const [name, y] of [["client", CLIENT], ["server", SERVER]]) {
      node("line", { class: "lane", x1: 0, x2: width(), y1: y, y2: y }, svg);
      node("text", { class: "lane-name", x: width() - 6, y: y + 16, "text-anchor": "end" }, svg, name);
    }
    for (const each of session.served) served(each, svg);
    let labelled = -Infinity;
    session.messages.forEach((message, number) => {
      const group = arrow(message, number, svg);
      const at = x(message.place);
      if (group && message.kind !== "response" && (at - labelled > 14 || number === chosen)) {
        labelled = at;
        node("text", { transform: `translate(${at + 2} ${CLIENT - 7}) rotate(-40)`, stroke: "none" }, group, short(message.name));
      }
    });
    for (const cut of session.cuts) wait(cut, svg);
    scale(svg);
    stage.replaceChildren(svg);
  }

  const short = (name) => (name.length > 20 ? `${name.slice(0, 19)}…` : name);

  function arrow(message, number, svg) {
    const ends = message.out ? [[x(message.place), CLIENT], [x(message.there), SERVER]] : [[x(message.there), SERVER], [x(message.place), CLIENT]];
    if (!ends.some(([at]) => visible(at))) return null;
    const group = node("g", { class: `message ${message.kind}${number === chosen ? " chosen" : ""}`, "data-number": number }, svg);
    const [[x1, y1], [x2, y2]] = ends;
    node("line", { x1, y1, x2, y2 }, group);
    const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    node("path", { d: "M0 0L-8 -4L-8 4Z", transform: `translate(${x2} ${y2}) rotate(${turn})` }, group);
    return group;
  }

  function served(each, svg) {
    const from = Math.max(x(each.from), 0), to = Math.min(x(each.to), width());
    if (to < 0 || from > width()) return;
    const bar = node("rect", { class: each.part, x: from, y: SERVER - 6, width: Math.max(1, to - from), height: 12 }, svg);
    node("title", {}, bar, each.text);
  }

  function wait(cut, svg) {
    const at = x(cut.place);
    const middle = (CLIENT + SERVER) / 2;
    if (visible(at)) node("text", { class: "cut", "text-anchor": "middle", transform: `translate(${at + 4} ${middle}) rotate(-90)` }, svg, cut.text);
  }

  // How long an uncut stretch is: a round time that is at most a third of the picture.
  function scale(svg) {
    const perPixel = (session.scale_ns * span) / (width() - LEFT - RIGHT);
    const most = (perPixel * width()) / 3;
    const power = 10 ** Math.floor(Math.log10(most));
    const took = [5, 2, 1].map((each) => each * power).find((each) => each <= most);
    const end = LEFT + took / perPixel, y = stage.clientHeight - 18;
    const group = node("g", { class: "scale" }, svg);
    node("line", { x1: LEFT, x2: end, y1: y, y2: y }, group);
    for (const at of [LEFT, end]) node("line", { x1: at, x2: at, y1: y - 4, y2: y + 4 }, group);
    node("text", { x: end + 6, y: y + 4 }, group, duration(took));
  }

  function duration(ns) {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns >= size) return `${ns / size} ${unit}`;
    return `${ns} ns`;
  }

  function choose(number) {
    if (number === chosen) return;
    chosen = number;
    const { place } = session.messages[number];
    if (place < start || place > start + span) look(place - span / 2, span);
    else draw();
    tell();
  }

  function tell() {
    const message = session.messages[chosen];
    told.replaceChildren();
    if (!message) {
      const later = session.left_out ? `; ${session.left_out.toLocaleString("en")} later ones are not drawn` : "";
      told.append(`${session.messages.length} messages of launch ${session.launch}${later}`);
      return;
    }
    const line = document.createElement("div");
    const name = document.createElement("b");
    const [at, since, size, arrow, what, text] = [...rows[chosen].cells].map((cell) => cell.textContent);
    name.textContent = `${arrow} ${what}`;
    line.append(name, ` at ${at}, ${since} since the one before, ${size}`);
    told.append(line);
    if (text) {
      const body = document.createElement("pre");
      body.textContent = text;
      told.append(body);
    }
  }

  const placeAt = (event) => start + ((event.clientX - stage.getBoundingClientRect().left - LEFT) / (width() - LEFT - RIGHT)) * span;

  function nearest(event) {
    const at = event.clientX - stage.getBoundingClientRect().left;
    const low = event.clientY - stage.getBoundingClientRect().top > (CLIENT + SERVER) / 2;
    let best = -1, least = NEAR;
    session.messages.forEach((message, number) => {
      const away = Math.abs(x(low ? message.there : message.place) - at);
      if (away < least) [best, least] = [number, away];
    });
    return best;
  }

  const step = (by) => choose(Math.min(session.messages.length - 1, Math.max(0, chosen + by)));
  const KEYS = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(chosen < 0 ? 1 : -1),
    Home: () => choose(0),
    End: () => choose(session.messages.length - 1),
    "+": () => zoom(0.5, focus()),
    "=": () => zoom(0.5, focus()),
    "-": () => zoom(2, focus()),
    "0": () => look(0, 1),
  };
  const focus = () => (chosen < 0 ? start + span / 2 : session.messages[chosen].place);

  stage.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  stage.addEventListener("pointerdown", (event) => {
    drag = { from: event.clientX, start };
    stage.setPointerCapture(event.pointerId);
    const found = nearest(event);
    if (found >= 0) choose(found);
  });
  stage.addEventListener("pointermove", (event) => {
    if (drag) {
      if (span < 1) look(drag.start - ((event.clientX - drag.from) / (width() - LEFT - RIGHT)) * span, span);
      return;
    }
    const found = nearest(event);
    if (found >= 0) choose(found);
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => { drag = undefined; });
  stage.addEventListener("dblclick", (event) => zoom(0.5, placeAt(event)));
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, placeAt(event));
  }, { passive: false });
  const BUTTONS = { in: () => zoom(0.5, focus()), out: () => zoom(2, focus()), whole: () => look(0, 1) };
  for (const button of figure.querySelectorAll("button")) button.addEventListener("click", () => BUTTONS[button.dataset.do]());
  figure.querySelector("select").addEventListener("change", (event) => open(Number(event.target.value)));
  figure.hidden = false;
  open(Number(figure.querySelector("select").value));
  new ResizeObserver(draw).observe(stage);
})();
