/* From the state to numbers, or to a sentence about what is wrong with it. */
"use strict";

/** What is wrong, and the selector of its field. */
class Refusal extends Error {
  constructor(field, sentence) {
    super(sentence);
    this.field = field;
  }
}

/** The numbers of a state: {signal, mu, sigma, eta, dynamics, start, logOmega}. */
function readState(state) {
  const eta = valueOf(state.eta);
  if (!(eta > 0)) throw new Refusal("#eta", "η must be a positive number");
  const task = readTask(state);
  const isSeed = state.start === "seed";
  const start = isSeed ? readScale(state) : readMatrix(state);
  const top = Math.max(...task.signal);
  if (KEEPS_PSD[state.dyn] && !isSeed && !isPsd(start)) {
    const sentence =
      "W(0) is not positive semidefinite, so it is no U Uᵀ: choose euler, or another W(0)";
    throw new Refusal("", sentence);
  }
  if (eta * top > LARGEST_STEP && state.dyn !== "flow") {
    throw new Refusal("#eta", `η a above ${LARGEST_STEP}: steps of this size only diverge`);
  }
  const logOmega = isSeed ? start.log : sizes(start).logLeast;
  return { ...task, eta, dynamics: state.dyn, start, logOmega };
}

function readTask({ mode, d, ...state }) {
  if (mode === "a") {
    const signal = state.a.slice(0, d).map(valueOf);
    signal.forEach((a, k) => {
      const isFree = a === 0 && k > 0 && signal.slice(k).every((later) => later === 0);
      if ((a > 0 && a < 1e6) || isFree) return;
      const name = `a${subscript(k + 1)}`;
      const sentence =
        a === 0 ? "zeros (free directions) come last" : `${name} must be a positive number`;
      throw new Refusal(`#a${k}`, sentence);
    });
    const count = signal.filter((a) => a > 0).length;
    return { signal, mu: signal.map((a) => Math.sqrt(count * a)), sigma: signal.map(() => 0) };
  }
  const mu = state.mu.slice(0, d).map(valueOf);
  const sigma = state.sigma.slice(0, d).map(valueOf);
  mu.forEach((centre, k) => {
    const name = subscript(k + 1);
    if (!(centre > 0 && centre < 1e3))
      throw new Refusal(`#mu${k}`, `μ${name} must be a positive number`);
    if (!(sigma[k] >= 0 && sigma[k] < 1e3))
      throw new Refusal(`#sigma${k}`, `σ${name} must be at least 0`);
  });
  return { signal: mu.map((centre, k) => sigma[k] ** 2 + (centre * centre) / d), mu, sigma };
}

function readScale({ omega, seed, d, width }) {
  const log10 = log10Of(omega);
  if (!(log10 <= 0) || !Number.isFinite(log10)) {
    throw new Refusal("#omega", "ω must be a positive number of at most 1");
  }
  return gaussianStart(seed, d, width, log10 * Math.LN10);
}

function readMatrix(state) {
  const texts = typedMatrix(state);
  for (const [i, j] of entryPairs(state.d)) {
    const text = texts[i][j];
    const field = `[data-w="${i},${j}"]`;
    const name = `${entryName(i, j)}(0)`;
    if (!isNumber(text)) throw new Refusal(field, `${name} must be a number`);
    if (Math.abs(valueOf(text)) > LARGEST_ENTRY) {
      throw new Refusal(field, `${name} above ${LARGEST_ENTRY} leaves the range of this page`);
    }
    const size = text.trim().replace(/^[-+]/, "");
    if (/[1-9]/.test(size.split(/[eE]/)[0]) && log10Of(size) < SMALLEST_ENTRY) {
      const sentence = `${name} is below 1e${SMALLEST_ENTRY}: take a Gaussian start, whose ω has any size`;
      throw new Refusal(field, sentence);
    }
  }
  const M = texts.map((row, i) =>
    row.map((_, j) => valueOf(texts[Math.min(i, j)][Math.max(i, j)])),
  );
  if (M.flat().every((entry) => entry === 0)) throw new Refusal("", "W(0) must not be zero");
  return { M, log: 0 };
}
