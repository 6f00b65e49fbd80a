/* The closed law: stage times from the pivots of W(0), and their spread over Gaussian starts. */
"use strict";

/**
 * Times t_k = -log pi_k / g_kk, stage after stage, and the logarithms of the pivots, by concept.
 *
 * Under euler correlations drift while a concept grows, as W does not stay U U^T.
 * A time is NaN where the pivot is not positive, and infinite in a free direction.
 */
function closedLaw(signal, start, eta, dynamics) {
  const growth = GROWTH[dynamics];
  const order = descending(signal);
  const a = order.map((k) => signal[k]);
  const d = a.length;
  const size = order.map((k) => {
    const row = start.M[k];
    return Math.sqrt(Math.abs(row[k]) || Math.max(...row.map(Math.abs))) || 1;
  });
  let R = order.map((k, i) => order.map((l, j) => start.M[k][l] / size[i] / size[j]));
  const times = Array(d).fill(NaN);
  const logPivots = Array(d).fill(NaN);
  let now = 0;
  for (let k = 0; k < d; k++) {
    const pivot = R[k][k];
    const base = 2 * Math.log(size[k]) + start.log;
    const grows = pivot > 0 && a[k] > 0;
    let ahead = 0;
    if (pivot > 0) logPivots[order[k]] = base + Math.log(pivot);
    if (a[k] === 0) times[order[k]] = Infinity;
    if (!grows) continue;
    const time = -(base + Math.log(pivot)) / growth(a[k], a[k], eta);
    times[order[k]] = Math.max(time, 0);
    ahead = time - now;
    now = time;
    if (!KEEPS_PSD[dynamics]) {
      const excess = (i, j) =>
        growth(a[i], a[j], eta) - (growth(a[i], a[i], eta) + growth(a[j], a[j], eta)) / 2;
      R = R.map((row, i) => row.map((x, j) => x * Math.exp(excess(i, j) * ahead)));
    }
    const column = R.map((row) => row[k]);
    R = R.map((row, i) => row.map((x, j) => x - (column[i] / column[k]) * column[j]));
  }
  return { times, logPivots };
}

/** The same, with 0 for the concepts that W(0) holds already. */
function predictedLaw(signal, start, eta, dynamics) {
  const { times, logPivots } = closedLaw(signal, start, eta, dynamics);
  const isThere = (k) => Math.log(start.M[k][k]) + start.log >= -Math.LN2;
  return { times: times.map((time, k) => (isThere(k) ? 0 : time)), logPivots };
}

const EULER_GAMMA = 0.5772156649015329;

/** Mean and standard deviation of every half-time: pivots are chi-squared (Bartlett). */
function gaussianTimes(signal, logOmega, width, eta, dynamics) {
  const logTau2 = logOmega - Math.log(width);
  const mean = Array(signal.length).fill(NaN);
  const deviation = Array(signal.length).fill(NaN);
  descending(signal).forEach((k, rank) => {
    const freedom = width - rank;
    if (!(signal[k] > 0) || freedom < 1) return;
    const isOdd = freedom % 2 === 1;
    let digamma = -EULER_GAMMA - (isOdd ? 2 * Math.LN2 : 0);
    let trigamma = isOdd ? Math.PI ** 2 / 2 : Math.PI ** 2 / 6;
    for (let x = isOdd ? 0.5 : 1; x < freedom / 2 - 0.25; x++) {
      digamma += 1 / x;
      trigamma -= 1 / (x * x);
    }
    const own = GROWTH[dynamics](signal[k], signal[k], eta);
    mean[k] = (-logTau2 - Math.LN2 - digamma) / own;
    deviation[k] = Math.sqrt(trigamma) / own;
  });
  return { mean, deviation };
}
