/*
 * A jump over a waiting time: near W = 1 on the learned concepts and 0 elsewhere, every entry of
 * the distance moves by a factor of its own, so that any number of steps is one multiplication.
 */
"use strict";

/** Bounds of entries where a jump begins: unlearned, learned, and between both. */
const SMALL = 1e-13;
const SETTLED = 1e-12;
const MIXED = 1e-6;

/** Jump if that is possible; returns whether it was. */
function jump(S) {
  const { d, E, m, s, weight, rows, columns, diagonal, isNull, isFree, learned } = S;
  for (let k = 0; k < d; k++) learned[k] = Math.abs(S.X[diagonal[k]] * s[k] - 1) < SETTLED;
  if (learned.every((is, k) => is || isNull[k] || isFree[k])) return false;
  for (let e = 0; e < E; e++) {
    const i = rows[e];
    const j = columns[e];
    const size = Math.abs(S.X[e] * weight[e]);
    const isBetween = learned[i] !== learned[j];
    if (learned[i] && i === j) continue;
    if (size > (isBetween ? MIXED : learned[i] ? SETTLED : SMALL)) return false;
  }
  const motion = ownMotion(S);
  if (motion === null || !(motion.reach >= S.shortest)) return false;
  const steps = Math.floor(Math.min(motion.reach, S.most - S.n, 2 ** 52));
  const exponents = Float64Array.from(m, (exponent, k) => {
    if (learned[k]) return 0;
    const entry = diagonal[k];
    const grown = steps * motion.rate[entry] + Math.log2(Math.abs(motion.Z[entry]) || 1);
    return Math.min(0, exponent + Math.round(grown / 2));
  });
  if (S.keeps) recordWaiting(S, motion, steps);
  const landed = moved(S, motion, steps, exponents);
  m.set(exponents);
  weigh(S);
  S.X.set(landed);
  S.n += steps;
  S.jumps++;
  restoreNulls(S);
  if (S.keeps) record(S);
  return true;
}

/**
 * What moves on its own: Z, its binary logarithm per step, what follows it, and how many steps
 * until something is no longer small. Between unlearned concepts Z is the entry less what the
 * entries beside learned concepts feed into it.
 */
function ownMotion(S) {
  const { d, E, m, s, rows, columns, index, isNull, learned, X, stepRates: rates } = S;
  const Z = Float64Array.from(X);
  const rate = new Float64Array(E);
  const fed = [];
  let reach = Infinity;
  for (let e = 0; e < E; e++) {
    const i = rows[e];
    const j = columns[e];
    if (learned[i] && learned[j]) {
      rate[e] = i === j ? 0 : S.bothRate[i][j];
      continue;
    }
    if (learned[i] || learned[j]) {
      rate[e] = learned[i] ? S.firstRate[i][j] : S.firstRate[j][i];
      continue;
    }
    rate[e] = S.growth[e];
    for (let k = 0; k < d; k++) {
      if (!learned[k]) continue;
      let factor = 1;
      if (!S.keepsPsd) {
        const mean = (rates[i] + rates[j]) / 2 + rates[k];
        const apart = 4 * mean - (rates[k] - rates[i]) * (rates[k] - rates[j]);
        if (apart <= 0) return null;
        factor = (4 * mean) / apart;
      }
      const feeds = [e, factor, index[i][k], index[j][k], k];
      fed.push(feeds);
      Z[e] -= factor * X[feeds[2]] * X[feeds[3]] * s[k];
    }
    if ((isNull[i] || isNull[j]) && S.held.every((k) => learned[k])) Z[e] = 0;
    if (Z[e] === 0 || rate[e] === 0) continue;
    const room = Math.log2(SMALL / 2) - Math.log2(Math.abs(Z[e])) - m[i] - m[j];
    reach = Math.min(reach, room / rate[e]);
  }
  return rate.every(Number.isFinite) ? { Z, rate, fed, reach } : null;
}

/** X after so many steps, over the powers of two of other exponents. */
function moved(S, { Z, rate, fed }, steps, exponents) {
  const { m, rows, columns } = S;
  const out = Z.map((z, e) => {
    const lift = m[rows[e]] + m[columns[e]] - exponents[rows[e]] - exponents[columns[e]];
    return z * Math.pow(2, steps * rate[e] + lift);
  });
  for (const [e, factor, ik, jk, k] of fed) {
    out[e] += factor * out[ik] * out[jk] * Math.pow(2, 2 * exponents[k]);
  }
  return out;
}

/** Points of a waiting time that a picture needs: evenly in steps and in their logarithm. */
function recordWaiting(S, motion, steps) {
  const { m, learned, diagonal } = S;
  record(S);
  const stops = new Set();
  for (let p = 1; p < 24; p++)
    stops.add(Math.round((steps * p) / 24)).add(Math.round(steps ** (p / 24)));
  const before = Float64Array.from(m);
  for (const stop of [...stops].sort((p, q) => p - q)) {
    if (stop <= 0 || stop >= steps) continue;
    const exponents = before.map((exponent, k) =>
      learned[k] ? 0 : Math.min(0, exponent + Math.round((stop * motion.rate[diagonal[k]]) / 2)),
    );
    const out = moved(S, motion, stop, exponents);
    m.set(exponents);
    weigh(S);
    writeRecord(S, out, S.n + stop);
    m.set(before);
  }
  weigh(S);
}
