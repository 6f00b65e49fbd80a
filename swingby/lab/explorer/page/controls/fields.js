/* Sliders, fields and buttons: built for the number of concepts, filled from the state. */
"use strict";

const element = (id) => document.getElementById(id);
const elements = (selector) => document.querySelectorAll(selector);
const LETTERS = { a: "a", mu: "μ", sigma: "σ", seed: "seed", width: "d′" };

/** Write what the page has for the number of concepts and how they are given. */
function buildFields(state) {
  const { d, mode } = state;
  const kinds = mode === "a" ? ["a"] : ["mu", "sigma"];
  const concepts = Array.from({ length: d }, (_, k) => k);
  const rows = concepts.flatMap((k) => kinds.map((kind) => fieldMarkup(kind, k)));
  element("signals").innerHTML = rows.join("");
  const cells = concepts.flatMap((i) => concepts.map((j) => cellMarkup(i, j)));
  const columns = `grid-template-columns:repeat(${d},1fr)`;
  element("start-typed").innerHTML =
    `<div class="matrix" style="${columns}">${cells.join("")}</div>`;
  const planes = entryPairs(d).filter(([i, j]) => i < j);
  const button = ([i, j]) =>
    `<button type="button" data-set="axes=${i},${j}">${i + 1} and ${j + 1}</button>`;
  element("axes").innerHTML = planes.map(button).join("");
  fillFields(state);
}

function fieldMarkup(kind, k) {
  const dot = kind === "sigma" ? "" : `<span class="dot" style="background:${MAJOR[k]}"></span>`;
  const name = `${LETTERS[kind]} ${k + 1}`;
  const data = `data-k="${k}"`;
  return `<div class="num"><label for="${kind}${k}">${dot}<span><i>${LETTERS[kind]}</i><sub>${k + 1}</sub></span></label>
    <input type="range" min="0" max="1" step="0.001" data-slider="${kind}" ${data} aria-label="${name}">
    <input id="${kind}${k}" data-field="${kind}" ${data} inputmode="decimal" spellcheck="false" autocomplete="off"></div>`;
}

function cellMarkup(i, j) {
  const name = `${entryName(i, j)}(0)`;
  if (j < i)
    return `<input disabled aria-label="${name}, the mirror of ${entryName(j, i)}(0)" data-mirror="${j},${i}">`;
  return `<input data-w="${i},${j}" inputmode="decimal" spellcheck="false" autocomplete="off" aria-label="${name}">`;
}

/** Write the state into all fields but the one that is being edited. */
function fillFields(state, edited = null) {
  const put = (field, value) => {
    if (field !== edited && field.value !== String(value)) field.value = value;
  };
  const slide = (slider, kind, text) => {
    put(slider, clamped(SLIDERS[kind].share(text)));
    slider.setAttribute("aria-valuetext", text);
  };
  for (const field of elements("[data-field]"))
    put(field, state[field.dataset.field][+field.dataset.k]);
  for (const slider of elements("[data-slider]")) {
    const { slider: kind, k } = slider.dataset;
    slide(slider, kind, state[kind][+k]);
  }
  for (const name of ["omega", "eta"]) {
    put(element(name), state[name]);
    slide(element(`${name}-range`), name, state[name]);
  }
  for (const name of ["seed", "width"]) {
    element("width").min = element("width-range").min = state.d;
    put(element(name), state[name]);
    put(element(`${name}-range`), state[name]);
  }
  for (const cell of elements("[data-w], [data-mirror]")) {
    const [i, j] = (cell.dataset.w || cell.dataset.mirror).split(",");
    put(cell, state.W0[i][j]);
  }
  for (const button of elements("[data-set]")) {
    const [name, value] = button.dataset.set.split("=");
    button.setAttribute("aria-pressed", String(String(state[name]) === value));
  }
  element("start-seed").hidden = state.start !== "seed";
  element("start-typed").hidden = state.start !== "typed";
}

/** Say what is wrong, and mark its field. */
function complain(selector, sentence) {
  if (selector) document.querySelector(selector)?.setAttribute("aria-invalid", "true");
  element("problem").textContent = sentence;
}

function clearComplaints() {
  for (const field of elements('[aria-invalid="true"]')) field.removeAttribute("aria-invalid");
  element("problem").textContent = "";
}

/** The edit of the state that an input asks for, or null where its value is refused. */
function editOf(field) {
  const { value, dataset, id } = field;
  const { slider, field: kind, k, w } = dataset;
  if (slider) return (state) => (state[slider][+k] = SLIDERS[slider].text(+value));
  if (kind) return (state) => (state[kind][+k] = value);
  if (w) {
    const [i, j] = w.split(",");
    return (state) => (state.W0[i][j] = state.W0[j][i] = value);
  }
  const name = id.replace("-range", "");
  if (name === "omega" || name === "eta") {
    return (state) => (state[name] = id === name ? value : SLIDERS[name].text(+value));
  }
  const isWhole = value !== "" && Number.isInteger(+value);
  if (isWhole && +value >= +field.min && +value <= +field.max)
    return (state) => (state[name] = +value);
  complain(`#${id}`, `${LETTERS[name]} must be a whole number from ${field.min} to ${field.max}`);
  return null;
}

/** Row and column k of a typed W(0): the entry of the diagonal before, and no correlations. */
function addConcept(W0, k) {
  for (let i = 0; i <= k; i++) W0[i][k] = W0[k][i] = "0";
  W0[k][k] = W0[k - 1][k - 1];
}

/** The edit that a button asks for; `start` is W(0) at the moment. */
function choiceOf(choice, start) {
  const [name, value] = choice.split("=");
  return (state) => {
    if (name === "d") {
      if (state.width === state.d) state.width = +value;
      for (let k = state.d; k < +value; k++) addConcept(state.W0, k);
      state.d = +value;
    } else if (name === "mode") {
      if (value !== state.mode) convertSignals(state);
      state.mode = value;
    } else if (name === "start") {
      if (value === "typed" && state.start === "seed" && start) {
        start.M.forEach((row, i) =>
          row.forEach((entry, j) => (state.W0[i][j] = scaledText(entry, start.log))),
        );
      }
      state.start = value;
    } else if (name === "axes") state.axes = value.split(",").map(Number);
    else state[name] = name === "ylog" || name === "xlog" ? +value : value;
  };
}

/** From signals to clusters of the same signals, or back. */
function convertSignals(state) {
  const { d } = state;
  for (let k = 0; k < d; k++) {
    if (state.mode === "a") {
      state.mu[k] = typedText(Math.sqrt(d * valueOf(state.a[k])) || 1, 5);
      state.sigma[k] = "0";
    } else {
      const signal = valueOf(state.sigma[k]) ** 2 + valueOf(state.mu[k]) ** 2 / d;
      state.a[k] = typedText(signal || 1, 6);
    }
  }
}
