/*
 * Steps in a row, in one function over typed arrays and local numbers: V8 compiles it once.
 * A number that a closure changes would be boxed at every step, which is ten times slower.
 */
"use strict";

/** Why a call of `advance` returned. */
const GOES_ON = 0;
const LEFT_RANGE = 1;
const MOVED = 2;
const ARRIVED = 3;
const CROSSED = 4;
/** W counts as learned within so much of the identity. */
const NEAR = 0.01;

/** At most `count` steps of a system, until something is to be drawn or decided. */
function advance(S, map, count) {
  const { d, E, r, s, weight, rows, columns, diagonal, counted, half, peak, peakStep, extremes } =
    S;
  const { testPoint, rest, drawn, stride, keeps, unit, floor, swing, turns, flow } = S;
  let { X, Y, n, away, stop, heading } = S;
  let result = GOES_ON;
  let done = 0;
  while (done < count && result === GOES_ON) {
    if (flow === null) map(X, r, s, Y);
    else rungeKutta(flow, map, X, r, s, 1, Y);
    done++;
    n++;
    const swapped = X;
    X = Y;
    Y = swapped;
    let distance = 0.5 - 0.5; // a float for the compiler, not a small integer
    let loss = 0.5 - 0.5;
    for (let k = 0; k < d; k++) {
      const w = X[diagonal[k]] * s[k];
      if (!(w < 1e300 && w > -1e300)) result = LEFT_RANGE;
      if (w >= 0.5 && half[k] < 0) {
        half[k] = n;
        if (flow !== null && result === GOES_ON) result = CROSSED;
      }
      const off = Math.abs(w - 1);
      if (off > distance && counted[k] === 1) distance = off;
      rest[k] = -testPoint[k];
    }
    if (result === LEFT_RANGE) break;
    for (let e = 0; e < E; e++) {
      const i = rows[e];
      const j = columns[e];
      const w = X[e] * weight[e];
      rest[i] += w * testPoint[j];
      if (i === j) continue;
      rest[j] += w * testPoint[i];
      const size = Math.abs(w);
      if (size > peak[e]) {
        peak[e] = size;
        peakStep[e] = n * unit;
      }
      if (size > distance && counted[i] === 1 && counted[j] === 1) distance = size;
    }
    for (let k = 0; k < d; k++) loss += rest[k] * rest[k];
    loss *= 0.5;
    if (heading <= 0 && loss < extremes[0]) {
      extremes[0] = loss;
      extremes[2] = n;
    }
    if (heading >= 0 && loss > extremes[1]) {
      extremes[1] = loss;
      extremes[3] = n;
    }
    if (heading <= 0 && loss - extremes[0] >= swing) {
      turns.push({ step: extremes[2] * unit, value: extremes[0], isTop: false });
      extremes[1] = loss;
      extremes[3] = n;
      heading = 1;
    } else if (heading >= 0 && extremes[1] - loss >= swing) {
      turns.push({ step: extremes[3] * unit, value: extremes[1], isTop: true });
      extremes[0] = loss;
      extremes[2] = n;
      heading = -1;
    }
    if (distance > NEAR) {
      away = n;
      stop = Infinity;
    } else if (stop === Infinity) {
      stop = Math.ceil(Math.max(1.12 * n, n + 3));
      if (flow !== null && result === GOES_ON) result = CROSSED;
    }
    if (distance < 1e-9 || n >= stop) {
      result = ARRIVED;
      break;
    }
    if (keeps && result === GOES_ON && n % stride === 0) {
      for (let e = 0; e < E; e++) {
        const now = X[e] * weight[e];
        const was = drawn[e];
        const size = Math.abs(now);
        const before = Math.abs(was);
        const changed = size > 1.25 * before || size < 0.8 * before || now < 0 !== was < 0;
        if (Math.abs(now - was) > 0.008 || ((size > floor || before > floor) && changed)) {
          result = MOVED;
          break;
        }
      }
    }
  }
  Object.assign(S, { X, Y, n, away, stop, heading, done });
  return result;
}

const WEIGHTS = Float64Array.from(RUNGE_KUTTA.flat());

/** The flow over a share of a step, by the formula of order 8 of Dormand and Prince. */
function rungeKutta(flow, map, from, r, s, share, out) {
  const { slopes, probe, rates } = flow;
  const E = from.length;
  for (let k = 0; k < r.length; k++) rates[k] = r[k] * share;
  map(from, rates, s, slopes[0]);
  for (let stage = 1; stage <= 12; stage++) {
    for (let e = 0; e < E; e++) probe[e] = from[e];
    for (let p = 0; p < stage; p++) {
      const factor = WEIGHTS[12 * (stage - 1) + p];
      const slope = slopes[p];
      if (factor !== 0) for (let e = 0; e < E; e++) probe[e] += factor * slope[e];
    }
    if (stage < 12) map(probe, rates, s, slopes[stage]);
  }
  for (let e = 0; e < E; e++) out[e] = probe[e];
}
