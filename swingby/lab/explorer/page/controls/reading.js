/* From the state to numbers, or to a sentence about what is wrong with it. */
"use strict";

/** What is wrong, and the selector of its field. */
class Refusal extends Error {
  constructor(field, sentence) {
    super(sentence);
    this.field = field;
  }
}

/** The value of a number in a field: above 0, or also 0, and below `limit`. */
function readNumber(field, name, text, { isZeroFine = false, limit = Infinity } = {}) {
  const value = valueOf(text);
  const requirement = isZeroFine ? "a number of at least 0" : "a positive number";
  const refuse = (sentence) => {
    throw new Refusal(field, sentence);
  };
  if (Number.isNaN(value)) refuse(`${name} must be ${requirement}${commaHint(text)}`);
  const isTiny = !isZero(text) && Math.abs(value) < 1e-300;
  if (value < 0 || Object.is(value, -0) || (value === 0 && !isZeroFine && !isTiny))
    refuse(`${name} must be ${requirement}`);
  if (isTiny) refuse(`${name} is below 1e-300, which this page cannot compute with`);
  if (!(value < limit)) refuse(`${name} must be below ${limit.toExponential().replace("+", "")}`);
  return value;
}

/** What to type in place of 0,5. */
function commaHint(text) {
  const pointed = text.replace(",", ".");
  return text.includes(",") && isNumber(pointed) ? `: write ${pointed.trim()}` : "";
}

/** The numbers of a state: {signal, mu, sigma, eta, dynamics, start, logOmega}. */
function readState(state) {
  const eta = readNumber("#eta", "η", state.eta, { limit: 1e300 });
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
    const signal = state.a.slice(0, d).map((text, k) => {
      const limits = { isZeroFine: true, limit: MOST_SIGNAL };
      return readNumber(`#a${k}`, `a${subscript(k + 1)}`, text, limits);
    });
    signal.forEach((a, k) => {
      if (a > 0 || (k > 0 && signal.slice(k).every((later) => later === 0))) return;
      throw new Refusal(`#a${k}`, "zeros (free directions) come last");
    });
    const count = signal.filter((a) => a > 0).length;
    return { signal, mu: signal.map((a) => Math.sqrt(count * a)), sigma: signal.map(() => 0) };
  }
  const limit = MOST_CLUSTER;
  const mu = state.mu
    .slice(0, d)
    .map((text, k) => readNumber(`#mu${k}`, `μ${subscript(k + 1)}`, text, { limit }));
  const sigma = state.sigma.slice(0, d).map((text, k) => {
    const name = `σ${subscript(k + 1)}`;
    return readNumber(`#sigma${k}`, name, text, { isZeroFine: true, limit });
  });
  return { signal: mu.map((centre, k) => sigma[k] ** 2 + (centre * centre) / d), mu, sigma };
}

function readScale({ omega, seed, d, width }) {
  const log10 = log10Of(omega);
  if (!(log10 <= 0) || !Number.isFinite(log10)) {
    const sentence = `ω must be a positive number of at most 1${commaHint(omega)}`;
    throw new Refusal("#omega", sentence);
  }
  return gaussianStart(seed, d, width, log10 * Math.LN10);
}

function readMatrix(state) {
  const texts = typedMatrix(state);
  for (const [i, j] of entryPairs(state.d)) {
    const text = texts[i][j];
    const field = `[data-w="${i},${j}"]`;
    const name = `${entryName(i, j)}(0)`;
    if (!isNumber(text)) throw new Refusal(field, `${name} must be a number${commaHint(text)}`);
    if (Math.abs(valueOf(text)) > LARGEST_ENTRY) {
      throw new Refusal(field, `${name} above ${LARGEST_ENTRY} leaves the range of this page`);
    }
    const size = text.trim().replace(/^[-+]/, "");
    if (!isZero(size) && log10Of(size) < SMALLEST_ENTRY) {
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
