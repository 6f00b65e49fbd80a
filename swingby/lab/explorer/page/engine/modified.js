/*
 * Very small steps: the map is followed by the flow of a field of its own, in long steps.
 *
 * The field of W + eta F + eta^2 S (S = 0 under euler, S = B W B under gd) is
 *   F + eta f2 + eta^2 f3,  f2 = S - F'F / 2,
 *   f3 = -(F'f2 + S'F) / 2 + (F''(F, F) + F'F'F) / 12,
 * up to eta^3. F and S are of degree 3 in W, so that differences give their derivatives exactly.
 */
"use strict";

/** Below this eta a, what is left out moves no half-time by a thousandth of a step. */
const SMALL_STEP = 1e-3;

/**
 * The slope of the modified flow, as a function of X, of the rates r = a h, and of s.
 *
 * `stepRate`: eta a of the concept `top`; eta / h is this over r[top].
 */
function modifiedField(dynamics, d, top, stepRate) {
  const slope = STEP.flow[d];
  const step = STEP[dynamics][d];
  const hasSecond = KEEPS_PSD[dynamics];
  const E = (d * (d + 1)) / 2;
  const memory = () => new Float64Array(E);
  const [F, S, f2, FF, FFF, Ff2, SF, curvature] = Array.from({ length: 8 }, memory);
  const probe = memory();
  const values = Array.from({ length: 4 }, memory);
  const around = Array.from({ length: 4 }, memory);
  /** S at a point of which the slope is known. */
  const second = (x, r, s, slopeThere, out) => {
    step(x, r, s, out);
    for (let e = 0; e < E; e++) out[e] -= x[e] + slopeThere[e];
  };
  /** The derivative along V of a cubic function, of its values at X - 2V, X - V, X + V, X + 2V. */
  const derivative = (values, out) => {
    const [a, b, c, z] = values;
    for (let e = 0; e < E; e++) out[e] = (a[e] - z[e] + 8 * (c[e] - b[e])) / 12;
  };
  const along = (V, x, r, s, out) => {
    for (let p = 0; p < 4; p++) {
      const factor = p < 2 ? p - 2 : p - 1;
      for (let e = 0; e < E; e++) probe[e] = x[e] + factor * V[e];
      slope(probe, r, s, values[p]);
      if (out === FF && hasSecond) second(probe, r, s, values[p], around[p]);
    }
    derivative(values, out);
  };
  return (x, r, s, out) => {
    slope(x, r, s, F);
    along(F, x, r, s, FF);
    for (let e = 0; e < E; e++) curvature[e] = values[1][e] - 2 * F[e] + values[2][e];
    if (hasSecond) {
      second(x, r, s, F, S);
      derivative(around, SF);
    }
    for (let e = 0; e < E; e++) f2[e] = S[e] - FF[e] / 2;
    along(FF, x, r, s, FFF);
    along(f2, x, r, s, Ff2);
    const ratio = stepRate / r[top];
    for (let e = 0; e < E; e++) {
      const f3 = (curvature[e] + FFF[e]) / 12 - (Ff2[e] + SF[e]) / 2;
      out[e] = F[e] + ratio * (f2[e] + ratio * f3);
    }
  };
}
