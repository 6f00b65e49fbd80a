/* W(0): entries in order, Gaussian starts of NumPy's seeds, sizes, rank, definiteness. */
"use strict";

/** Entries (i, j), i <= j, of a symmetric matrix, in the order of every array of entries. */
function entryPairs(d) {
  const pairs = [];
  for (let i = 0; i < d; i++) for (let j = i; j < d; j++) pairs.push([i, j]);
  return pairs;
}

/** The index of entry (i, j) among the pairs, as a full matrix. */
function entryIndex(d) {
  const index = Array.from({ length: d }, () => Array(d).fill(0));
  entryPairs(d).forEach(([i, j], entry) => {
    index[i][j] = index[j][i] = entry;
  });
  return index;
}

/** Concepts by descending signal; equal signals keep their order. */
function descending(signal) {
  return signal.map((_, k) => k).sort((i, j) => signal[j] - signal[i] || i - j);
}

/** A start is exp(log) times the matrix M, so that 1e-400 is one as well. */
let normals = null;
function setNormals(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  normals = new Float64Array(bytes.buffer);
}

/** U(0) U(0)^T of swingby.gaussian(task, omega, width, rng=seed), over omega. */
function gaussianStart(seed, d, width, logOmega) {
  const root = Math.sqrt(width);
  const U = Array.from({ length: d }, (_, i) =>
    Array.from({ length: width }, (_, j) => normals[seed * NORMALS + i * width + j] / root),
  );
  const M = U.map((row) => U.map((other) => row.reduce((sum, x, k) => sum + x * other[k], 0)));
  return { M, log: logOmega };
}

/** Logarithms of the smallest |w_ij(0)| that is not zero and of the largest. */
function sizes(start) {
  const all = start.M.flat().map(Math.abs);
  const nonzero = all.filter((x) => x > 0);
  return {
    hasZero: nonzero.length < all.length,
    logLeast: Math.log(Math.min(...nonzero)) + start.log,
    logMost: Math.log(Math.max(...all)) + start.log,
  };
}

/** A pivot below so many times its entry is rounding. */
const NULL_PIVOT = 1e-13;

/** Concepts without a component of their own, to rounding: gd and the flow keep the rank. */
function nullConcepts(signal, start) {
  const order = descending(signal);
  const M = start.M.map((row) => row.slice());
  const isNull = Array(signal.length).fill(false);
  order.forEach((k, rank) => {
    isNull[k] = !(M[k][k] > NULL_PIVOT * Math.abs(start.M[k][k]));
    if (isNull[k]) return;
    const later = order.slice(rank + 1);
    for (const i of later)
      for (const j of later) if (i <= j) M[i][j] = M[j][i] -= (M[i][k] * M[k][j]) / M[k][k];
  });
  return isNull;
}

/** Whether W(0) is positive semidefinite, by elimination with pivoting. */
function isPsd(start) {
  const M = start.M.map((row) => row.slice());
  const d = M.length;
  const tolerance = 1e-12 * Math.max(...M.flat().map(Math.abs));
  for (let k = 0; k < d; k++) {
    let top = k;
    for (let i = k; i < d; i++) if (M[i][i] > M[top][top]) top = i;
    [M[k], M[top]] = [M[top], M[k]];
    for (const row of M) [row[k], row[top]] = [row[top], row[k]];
    if (M[k][k] <= tolerance) {
      for (let i = k; i < d; i++) {
        if (M[i][i] < -tolerance) return false;
        for (let j = i + 1; j < d; j++) if (Math.abs(M[i][j]) > tolerance) return false;
      }
      return true;
    }
    for (let i = k + 1; i < d; i++) {
      for (let j = k + 1; j < d; j++) M[i][j] -= (M[i][k] * M[k][j]) / M[k][k];
    }
  }
  return true;
}

/** The inverse of a small matrix, by elimination. */
function inverted(matrix) {
  const d = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let k = 0; k < d; k++) {
    let top = k;
    for (let i = k; i < d; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[top][k])) top = i;
    [rows[k], rows[top]] = [rows[top], rows[k]];
    const pivot = rows[k][k];
    rows[k] = rows[k].map((x) => x / pivot);
    rows.forEach((row, i) => {
      if (i !== k) rows[i] = row.map((x, j) => x - row[k] * rows[k][j]);
    });
  }
  return rows.map((row) => row.slice(d));
}
