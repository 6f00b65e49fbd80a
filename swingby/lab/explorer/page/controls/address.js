/* The state of the page, and the address that holds it. */
"use strict";

const PRESETS = [
  ["Swing-by", "a=4,1&start=typed&W0=0.02,0.038;0.038,0.08&eta=0.01&dyn=gd&ylog=0"],
  ["Three concepts", "a=16,4,1&omega=1e-6&seed=4&eta=0.002&dyn=gd"],
  ["μ and σ", "mu=1,1.5,2.2&sigma=0.05,0.05,0.05&omega=1e-6&seed=0&eta=0.01&dyn=gd"],
  ["Four concepts", "a=36,11,3,0.8&omega=1e-4&seed=3&width=6&eta=0.002&dyn=gd"],
  ["Runaway", "a=4,1&start=typed&W0=1e-4,0.99e-4;0.99e-4,1e-4&eta=0.02&dyn=euler"],
  ["Rank one", "a=4,1&start=typed&W0=1e-3,1e-3;1e-3,1e-3&eta=0.01&dyn=gd"],
  ["Free direction", "a=4,1,0&omega=1e-3&seed=3&eta=0.01&dyn=gd"],
  ["Inside D.1–D.5", "a=4,1&omega=1e-80&seed=0&eta=1e-3&dyn=euler"],
];

const FIRST_STATE = {
  d: 2,
  mode: "a",
  a: FIRST_SIGNAL,
  mu: ["1.5", "1", "0.6", "0.4"],
  sigma: ["0.05", "0.05", "0.05", "0.05"],
  omega: "1e-3",
  eta: FIRST_ETA,
  dyn: FIRST_DYNAMICS,
  start: "seed",
  seed: 0,
  width: 2,
  W0: [
    ["2e-3", "1e-3", "0", "0"],
    ["1e-3", "2e-3", "0", "0"],
    ["0", "0", "2e-3", "0"],
    ["0", "0", "0", "2e-3"],
  ],
  ylog: 1,
  xlog: 0,
  axes: [0, 1],
  scope: "any",
};

/** The first d rows and columns of the typed matrix. */
const typedMatrix = ({ W0, d }) => W0.slice(0, d).map((row) => row.slice(0, d));

function toHash(state) {
  const { d, mode, start } = state;
  const words = [];
  if (mode === "a") words.push(`a=${state.a.slice(0, d)}`);
  else words.push(`mu=${state.mu.slice(0, d)}`, `sigma=${state.sigma.slice(0, d)}`);
  if (start === "seed") {
    words.push(`omega=${state.omega}`, `seed=${state.seed}`);
    if (state.width !== d) words.push(`width=${state.width}`);
  } else
    words.push(
      "start=typed",
      `W0=${typedMatrix(state)
        .map((row) => row.join(","))
        .join(";")}`,
    );
  words.push(`eta=${state.eta}`, `dyn=${state.dyn}`);
  if (!state.ylog) words.push("ylog=0");
  if (state.xlog) words.push("xlog=1");
  if (state.scope !== "any") words.push("scope=this");
  if (state.axes.join() !== "0,1") words.push(`axes=${state.axes}`);
  return words.join("&");
}

/** The state of an address: what is no number is left as it is in the first state. */
function fromHash(hash) {
  const state = structuredClone(FIRST_STATE);
  const words = new URLSearchParams(hash.replace(/^#/, "").replace(/\+/g, "%2B"));
  const text = (name) => words.get(name) || "";
  for (const name of ["a", "mu", "sigma"]) {
    const values = text(name).split(",").filter(isNumber).slice(0, MOST_DIRECTIONS);
    if (!values.length) continue;
    if (name !== "sigma") [state.mode, state.d] = [name, Math.max(2, values.length)];
    values.forEach((value, k) => {
      state[name][k] = value;
    });
  }
  for (const name of ["omega", "eta"]) if (isNumber(text(name))) state[name] = text(name);
  if (Object.hasOwn(STEP, text("dyn"))) state.dyn = text("dyn");
  if (text("start") === "typed") state.start = "typed";
  const rows = text("W0").split(";").slice(0, MOST_DIRECTIONS);
  rows.forEach((row, i) => {
    row
      .split(",")
      .slice(0, MOST_DIRECTIONS)
      .forEach((entry, j) => {
        if (isNumber(entry)) state.W0[i][j] = entry;
      });
  });
  const whole = (name, low, high, otherwise) => {
    const value = /^\d+$/.test(text(name)) ? +text(name) : -1;
    return value >= low && value <= high ? value : otherwise;
  };
  state.seed = whole("seed", 0, SEEDS - 1, 0);
  state.width = whole("width", state.d, COLUMNS, state.d);
  state.ylog = whole("ylog", 0, 1, 1);
  state.xlog = whole("xlog", 0, 1, 0);
  if (text("scope") === "this") state.scope = "this";
  const axes = text("axes").split(",").map(Number);
  const areAxes =
    axes.length === 2 && axes.every((k) => k >= 0 && k < state.d && Number.isInteger(k));
  if (areAxes && axes[0] !== axes[1]) state.axes = axes;
  return state;
}
