/*
 * Assumptions D.1 to D.5, printed edition: constants to try, margins, what binds.
 * The inequalities and the reduction are generated; which constants are tried is as in
 * swingby/verify/checking/feasibility.py (witness, nearest_attempt).
 */
"use strict";

/** Decades between both sides, of their logarithms: a side that is not positive has none. */
function slackOf(small, large) {
  if (Number.isNaN(large)) return -Infinity;
  return Number.isNaN(small) ? Infinity : (large - small) / Math.LN10;
}

/** Margins at (a, omega, beta, eta); hasZero: whether W(0) has a zero entry. */
function checkAssumptions(signal, logOmega, logBeta, eta, hasZero = false) {
  const setting = reduced(signal, logOmega, logBeta);
  const isPossible = !hasZero && setting.least > 0;
  const logLargest =
    setting.isSeparated && setting.least > 0
      ? -REDUCTION.threshold({
          ...setting,
          kappa: KAPPA,
          gamma: setting.top / alphaAt(setting, KAPPA),
        })
      : -Infinity;
  const exist = isPossible && setting.isSeparated && logOmega < logLargest;
  const { kappa, step, beta, log10P } = exist ? witness(setting) : nearestAttempt(setting);
  let alpha = alphaAt(setting, kappa);
  if (alpha === setting.top) alpha = setting.top / (1 + step);
  const values = {
    alpha,
    gamma: setting.top / alpha,
    K: LEAST_K,
    kappa,
    d: setting.d,
    eta,
    log_P: log10P * Math.LN10,
    log_beta: beta,
    log_omega: logOmega,
  };
  const first = {
    id: "D.1",
    title: "Bounded Initialization and Signal Strength",
    math: D1_MATH,
    where: "",
  };
  const results = [
    { ...first, margin: isPossible ? Infinity : -Infinity },
    ...STATEMENTS.map((statement) => tightest(statement, values, signal, setting)),
  ];
  const fails = ({ id, margin }) =>
    margin < 0 || (id === "D.5" && margin === 0 && !setting.isSeparated);
  const failing = results.filter(fails);
  const largestEta = REDUCTION.largestEta({ K: LEAST_K, top: setting.top });
  const etaRoom = Math.log(largestEta / eta);
  const binding = failing.length
    ? bindingOf(failing, setting.isSeparated)
    : logLargest - logOmega <= etaRoom
      ? "D.4"
      : "D.2";
  const { isSeparated } = setting;
  return {
    results,
    failing: failing.map(({ id }) => id),
    binding,
    logLargest,
    largestEta,
    isSeparated,
    isPossible,
  };
}

/** The letters of the reduction that do not depend on kappa. */
function reduced(signal, logOmega, logBeta) {
  const sorted = descending(signal).map((k) => signal[k]);
  const next = sorted.slice(1);
  const gap = Math.min(...next.map((a, k) => sorted[k] - 3 * a));
  return {
    d: signal.length,
    K: LEAST_K,
    u: -logOmega,
    b: logBeta,
    gap,
    isSeparated: gap > 0,
    rho: (1 + Math.max(...next.map((a, k) => (sorted[k] > 0 ? a / sorted[k] : 0)))) / 2,
    top: sorted[0],
    least: sorted[sorted.length - 1],
    leastPositive: Math.min(...sorted.filter((a) => a > 0)),
  };
}

function alphaAt({ leastPositive, gap, isSeparated }, kappa) {
  return isSeparated
    ? Math.min(leastPositive, REDUCTION.alphaBound({ gap, kappa }))
    : leastPositive;
}

/** Constants that satisfy D.1 and D.3 to D.5, near the corner, P in the middle of its window. */
function witness(setting) {
  const at = (step) => {
    const kappa = KAPPA + step;
    const b = Math.max(setting.b, Math.log1p(step));
    return { ...setting, kappa, b, gamma: setting.top / alphaAt(setting, kappa) };
  };
  const fullRoom = REDUCTION.slack(at(0));
  let step = ATTEMPT;
  for (let places = 1; places < 16; places++) {
    step = Math.pow(10, -places);
    if (REDUCTION.slack(at(step)) > Math.max(4 * step, fullRoom / 2)) break;
  }
  const letters = at(step);
  const low = Math.max(Math.LN2, REDUCTION.pLow(letters)) / Math.LN10;
  const high = REDUCTION.above({ ...letters, p: 0 }) / Math.LN10;
  let digits = 3;
  while (!(Math.pow(10, -digits) < (high - low) / 10) && digits < 15) digits += 3;
  const unit = Math.pow(10, digits);
  return {
    kappa: letters.kappa,
    step,
    beta: letters.b,
    log10P: Math.floor(((low + high) / 2) * unit) / unit,
  };
}

/** Constants at which a set that fails is judged: P is the smallest that (D.10) admits. */
function nearestAttempt(setting) {
  const kappa = KAPPA + ATTEMPT;
  const beta = Math.max(setting.b, Math.log1p(ATTEMPT));
  let log10P = LOG10_TWO;
  if (setting.isSeparated && beta < setting.u) {
    const low = Math.max(Math.LN2, REDUCTION.pLow({ ...setting, kappa, b: beta }));
    log10P = Math.max(LOG10_TWO, (Math.floor((low / Math.LN10) * 1e9) + 2) / 1e9);
  }
  return { kappa, step: ATTEMPT, beta, log10P };
}

/** The tightest inequality of a statement about the numbers, over neighbouring signals. */
function tightest({ id, title, conditions }, values, signal, { isSeparated }) {
  const order = descending(signal);
  const neighbours = order.slice(1).map((j, k) => [order[k], j]);
  const gaps = conditions.filter((condition) => condition.isGap);
  let worst = { margin: Infinity, math: "", where: "" };
  for (const { over, math, slack } of gaps.length && !isSeparated ? gaps : conditions) {
    for (const pair of over === "pair" ? neighbours : [null]) {
      const margin = slack(
        pair ? { ...values, a_i: signal[pair[0]], a_j: signal[pair[1]] } : values,
      );
      const where = pair ? `i = ${pair[0] + 1}, j = ${pair[1] + 1}` : "";
      if (margin < worst.margin) worst = { margin, math, where };
    }
  }
  return { id, title, ...worst };
}

/** The first to mend among those that fail: what no omega or eta can mend comes first. */
function bindingOf(failing, isSeparated) {
  for (const id of isSeparated ? ["D.1"] : ["D.1", "D.5"]) {
    if (failing.some((result) => result.id === id)) return id;
  }
  const aboutSize = failing.filter(({ id }) => id !== "D.5");
  return (aboutSize.length ? aboutSize : failing).reduce((p, q) => (q.margin < p.margin ? q : p))
    .id;
}
