/* The page: a change of the state, everything after it, and the cursor through all pictures. */
"use strict";

let state = null;
/** The numbers of the state, with the closed law and the check of D.1 to D.5. */
let setting = null;
let currentRun = null;
let runs = [];
let pictures = [];
let view = null;
let cursorShare = 1;
let frame = 0;
let seedsDrawn = 0;
let playing = 0;
let addressTimer = 0;
/** Milliseconds without a change before the address is written. */
const QUIET = 150;
/** Milliseconds between drawings of the runs of all seeds. */
const REDRAW = 250;
/** Milliseconds that playing a run takes. */
const PLAYING_TIME = 6000;

/** Everything after a change of the state. */
function update() {
  clearComplaints();
  try {
    setting = readState(state);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    complain(error.field, error.message);
    return;
  }
  const { signal, mu, eta, dynamics, start } = setting;
  setting.law = predictedLaw(signal, start, eta, dynamics);
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, QUIET);
  element("python").textContent = pythonText(state);
  element("command").textContent = commandText(state);
  drawLegend();
  sayAssumptions();
  sayStart();
  const problem = { signal, testPoint: mu, eta, dynamics, start };
  askRun(problem, { onRun, onWait, onFailure: update });
  const isSeed = state.start === "seed";
  setting.scale = isSeed ? setting.logOmega : meanDiagonal(start);
  setting.width = isSeed ? state.width : state.d;
  const { scale, width } = setting;
  const many = { signal, testPoint: mu, eta, dynamics, logOmega: scale, width };
  if (askSeeds(many, onRuns, update)) runs = [];
  drawAllSeeds();
}

/** The state into the address; browsers refuse hundreds of changes in a row. */
function writeAddress() {
  addressTimer = 0;
  try {
    history.replaceState(null, "", `#${toHash(state)}`);
  } catch {
    // A page without an address of its own holds its numbers all the same.
  }
}

/** The mean of w_kk(0), as a logarithm: the scale of starts like a typed one. */
function meanDiagonal({ M, log }) {
  const sum = M.reduce((total, row, k) => total + Math.abs(row[k]), 0);
  return Math.log(sum / M.length || 1e-3) + log;
}

function onWait() {
  document.body.dataset.busy = "1";
  element("timing").textContent = "Computing …";
}

function onRun(result, milliseconds) {
  delete document.body.dataset.busy;
  currentRun = result;
  draw();
  sayRun();
  const time = milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds);
  element("timing").textContent =
    `This run: ${stepText(result.last)} steps, of which ${stepText(result.computed)} computed, in ${time} ms.`;
}

function onRuns(more, isDone) {
  runs = runs.concat(more);
  if (isDone || performance.now() - seedsDrawn > REDRAW) drawAllSeeds();
}

/* ---- pictures ---- */

function drawLegend() {
  const pairs = entryPairs(setting.signal.length);
  const styles = lineStyles(pairs);
  const keys = pairs.map(([i, j], e) => {
    const { color, width, dash } = styles[e];
    const line = `<line x2="22" y1="5" y2="5" stroke="${color}" stroke-width="${width}" stroke-dasharray="${dash}"/>`;
    return `<span><svg width="22" height="10" aria-hidden="true">${line}</svg>${entryName(i, j)}</span>`;
  });
  const triangle =
    '<svg width="12" height="10" aria-hidden="true"><path d="M1 1h10l-5 8z" fill="var(--soft)"/></svg>';
  element("legend").innerHTML = `${keys.join("")}<span>${triangle}predicted</span>`;
}

/** The last step of the pictures: that of the run, or a predicted stage not far beyond it. */
function lastStep({ word, last, half }, { times }) {
  const stages = word === "converged" ? [] : times.filter((time) => time < 3 * last);
  const end = hasOverflown({ word }) ? last * 1.06 : last;
  return Math.max(10, end, ...stages, ...half.filter((step) => step >= 0));
}

function draw() {
  if (!currentRun || currentRun.half.length !== setting.signal.length) return;
  const { descents } = currentRun;
  view = {
    last: lastStep(currentRun, setting.law),
    isLog: Boolean(state.xlog),
    logEntries: Boolean(state.ylog),
    label: runSentence(currentRun, setting),
    lossLabel: `Test loss: ${descents} descent${descents === 1 ? "" : "s"}`,
  };
  const [p, q] = state.axes;
  const plane = `Output of the network in the plane of concepts ${p + 1} and ${q + 1}`;
  pictures = [
    drawEntries(element("chart-entries"), currentRun, setting.law, view),
    drawLoss(element("chart-loss"), currentRun, view),
    drawPlane(element("chart-plane"), currentRun, setting, state.axes, plane),
  ];
  moveCursor();
  if (element("mini").classList.contains("on"))
    drawEntries(element("chart-mini"), currentRun, setting.law, view);
}

function drawAllSeeds() {
  seedsDrawn = performance.now();
  const { signal, scale, width, eta, dynamics } = setting;
  const theory = gaussianTimes(signal, scale, width, eta, dynamics);
  const current = state.start === "seed" ? state.seed : -1;
  const label = `Half-times of ${runs.length} Gaussian starts`;
  drawSeeds(element("chart-seeds"), runs, signal, theory, current, label);
  const isDone = runs.length >= SEEDS;
  element("progress").textContent = isDone
    ? `${SEEDS} runs of ${dynamics}`
    : `${runs.length} of ${SEEDS} runs`;
  element("seeds-text").innerHTML = seedsSentence(runs, signal, scale);
}

function moveCursor() {
  if (!pictures.length) return;
  const { n, loss } = currentRun.records;
  const step = stepAt(cursorShare, view);
  let index = 0;
  n.forEach((at, p) => {
    if (Math.abs(at - step) < Math.abs(n[index] - step)) index = p;
  });
  for (const { cursor, mark } of pictures) {
    if (cursorShare < 1) mark(index);
    else cursor.innerHTML = "";
  }
  element("readout").textContent = `step ${stepText(n[index])}`;
  const text = `step ${Math.round(n[index])}, test loss ${loss[index].toPrecision(3)}`;
  element("cursor").setAttribute("aria-valuetext", text);
}

function setCursor(share) {
  cursorShare = clamped(share);
  element("cursor").value = cursorShare * 1000;
  moveCursor();
}

function play() {
  const stop = () => {
    playing = 0;
    element("play").textContent = "▶";
  };
  if (playing) {
    cancelAnimationFrame(playing);
    stop();
    return;
  }
  const begin = cursorShare >= 0.999 ? 0 : cursorShare;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    setCursor(begin + 0.1);
    return;
  }
  element("play").textContent = "❚❚";
  let before = performance.now();
  setCursor(begin);
  const tick = (time) => {
    setCursor(cursorShare + Math.max(0, time - before) / PLAYING_TIME);
    before = time;
    if (cursorShare < 1) playing = requestAnimationFrame(tick);
    else stop();
  };
  playing = requestAnimationFrame(tick);
}

/* ---- sentences ---- */

function sayRun() {
  const [tone, badge] = BADGES[currentRun.word];
  const sentence = escaped(runSentence(currentRun, setting));
  element("verdict").innerHTML = `<b class="${tone}">${badge}</b>${sentence}`;
  element("stage-rows").innerHTML = stageRows(currentRun, setting.law, setting);
  element("why-here").innerHTML = swingReason(currentRun, setting);
  sayAssumptionSentence();
}

function sayStart() {
  const { start, signal, eta, dynamics } = setting;
  const { logLeast, logMost } = sizes(start);
  const range = `from ${powerText(logLeast * Math.LOG10E)} to ${powerText(logMost * Math.LOG10E)}`;
  const stepSize = eta * Math.max(...signal);
  const seed = state.start === "seed" ? `NumPy's seed ${state.seed}; entries` : "Entries";
  const outside = stepSize > 0.5 && dynamics !== "flow";
  const warning = outside
    ? ` <b>η a = ${shortText(stepSize)}</b>: outside the range of the law.`
    : "";
  element("hint-start").innerHTML = `${seed} of <i>W</i>(0) ${range}.${warning}`;
}

function sayAssumptions() {
  const { signal, logOmega, eta, start } = setting;
  const isOwn = state.scope === "this" || state.start === "typed";
  const { logLeast, logMost, hasZero } = sizes(start);
  const scale = isOwn ? [logLeast, logMost - logLeast] : [logOmega, 0];
  setting.check = checkAssumptions(signal, ...scale, eta, isOwn && hasZero);
  const { results, failing, binding } = setting.check;
  const finite = results.map(({ margin }) => Math.abs(margin)).filter(Number.isFinite);
  const reach = Math.log1p(3 * Math.max(2, ...finite));
  const host = element("margins");
  if (!host.children.length) host.innerHTML = results.map(marginMarkup).join("");
  results.forEach(({ id, math, where, margin }, rank) => {
    const row = host.children[rank];
    const fails = failing.includes(id);
    const what = `${math}${where ? ` <span>at ${where}</span>` : ""}`;
    if (row.what !== what) {
      row.what = what; // browsers lay out mathematics as slowly as a run is computed
      row.querySelector("small").innerHTML = what;
    }
    row.querySelector(".tag").hidden = binding !== id;
    const tone = fails ? "bad" : "good";
    const bar = row.querySelector("i");
    const isFinite = Number.isFinite(margin);
    const share = isFinite ? Math.min(1, Math.log1p(3 * Math.abs(margin)) / reach) : 1;
    bar.className = tone;
    bar.style.width = `${Math.max(0.8, 50 * share)}%`;
    bar.style.opacity = isFinite ? 1 : 0.35;
    const value = row.querySelector(".value");
    value.className = `value ${tone}`;
    value.firstChild.textContent = fails ? "fails" : "holds";
    value.lastChild.textContent = marginText(margin);
  });
  sayAssumptionSentence();
}

function sayAssumptionSentence() {
  const hasConverged = currentRun !== null && currentRun.word === "converged";
  element("assumption-text").innerHTML = assumptionSentence(setting.check, hasConverged);
}

const marginMarkup = ({ id, title }) => `<div class="margin"><span class="id">${id}</span>
  <span class="what">${escaped(title)}<span class="tag">binding</span><small></small></span>
  <span class="track" aria-hidden="true"><i></i></span><span class="value"><b></b><small></small></span></div>`;

/* ---- what a reader does ---- */

/** Edit the state; all the rest follows in the next frame. */
function change(edit, edited = null) {
  const shape = () => [state.d, state.mode].join();
  const before = shape();
  edit(state);
  state.width = Math.max(state.width, state.d);
  if (state.axes.some((k) => k >= state.d)) state.axes = [0, 1];
  if (shape() === before) fillFields(state, edited);
  else buildFields(state);
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    update();
  });
}

function openState(hash) {
  state = fromHash(hash);
  buildFields(state);
  update();
}

async function copy(button) {
  const source = element(button.dataset.copy);
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  if (label === "Copied") return;
  button.textContent = "Copied";
  element("copied").textContent = `${label}: done`;
  setTimeout(() => (button.textContent = label), 1400);
}

function listen() {
  const button = ([name], k) => `<button type="button" data-preset="${k}">${name}</button>`;
  element("presets").innerHTML = PRESETS.map(button).join("");
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("button");
    const { seed } = event.target.dataset;
    if (seed) change((s) => Object.assign(s, { start: "seed", seed: +seed }));
    if (!pressed) return;
    const { set, preset, copy: what } = pressed.dataset;
    if (set) change(choiceOf(set, setting && setting.start));
    if (preset) openState(PRESETS[+preset][1]);
    if (what) copy(pressed);
    if (pressed.id === "play") play();
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("controls").addEventListener("input", ({ target }) => {
    const edit = editOf(target);
    if (edit) change(edit, target);
  });
  element("cursor").addEventListener("input", () => setCursor(+element("cursor").value / 1000));
  for (const id of ["chart-entries", "chart-loss"]) {
    element(id).addEventListener("pointermove", ({ clientX }) => {
      if (!pictures.length) return;
      const { left, right } = pictures[0];
      setCursor((clientX - element(id).getBoundingClientRect().left - left) / (right - left));
    });
  }
  window.addEventListener("hashchange", () => {
    const isState = location.hash.includes("="); // else a place in the page
    if (!isState) writeAddress();
    else if (location.hash.slice(1) !== toHash(state)) openState(location.hash);
  });
  watchScrolling();
  let width = 0;
  new ResizeObserver(() => {
    if (width === innerWidth) return;
    width = innerWidth;
    measuredSizes.clear();
    if (setting === null) return;
    draw();
    drawAllSeeds();
  }).observe(element("chart-entries"));
}

/** Where the controls are a screen away from the figure, a small one follows. */
function watchScrolling() {
  const mini = element("mini");
  const seen = new Map([
    ["controls", false],
    ["chart-entries", true],
  ]);
  const watch = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) seen.set(target.id, isIntersecting);
      const isOn = seen.get("controls") && !seen.get("chart-entries") && innerWidth <= 1040;
      if (isOn === mini.classList.contains("on")) return;
      mini.classList.toggle("on", isOn);
      measuredSizes.delete(element("chart-mini"));
      if (isOn) draw();
    },
    { rootMargin: "-60px 0px -170px" },
  );
  for (const id of seen.keys()) watch.observe(element(id));
}

/** Whatever went wrong, what is said of other numbers must not stay. */
function sayBroken(what) {
  currentRun = null;
  pictures = [];
  delete document.body.dataset.busy;
  const sentence = `This page failed at these numbers, so it says nothing of them: ${what}. swingby.simulate runs them all the same.`;
  element("verdict").innerHTML = `<b class="bad">✕ error</b>${escaped(sentence)}`;
  for (const id of ["stage-rows", "why-here", "chart-entries", "chart-loss", "chart-plane"])
    element(id).innerHTML = "";
  element("readout").textContent = element("timing").textContent = "";
}

window.addEventListener("error", ({ message }) => sayBroken(message));
setNormals(element("normals").textContent);
listen();
openState(
  location.hash.length > 1 ? location.hash : element("first").textContent.trim() || PRESETS[0][1],
);
