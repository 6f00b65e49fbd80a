/*
 * A run of the dynamics from W(0) until W rests, runs away, or too many steps are computed.
 * W = D X D with D a diagonal of powers of two 2^m_k, so that 1e-400 needs no long numbers.
 */
"use strict";

/** Runge-Kutta steps of the flow are as long as this over 2 a_max. */
const FLOW_STEP = 0.2;
/** Computed steps between looks for a jump, and those of the shortest: of maps, and of flows. */
const OF_MAPS = { block: 64, shortest: 200 };
const OF_FLOWS = { block: 8, shortest: 16 };
/** What decays between learned concepts is 0 below this: subnormal numbers are slow. */
const GONE = 1e-140;
/** So many records show all that a picture can: of more, every other one is left out. */
const MOST_RECORDS = 4000;

/**
 * Run a problem {signal, testPoint, eta, dynamics, start}.
 *
 * most: steps that are computed at most; keeps: whether entries are recorded for pictures.
 * Half-times and other steps count as those of swingby.simulate.
 */
function run(problem, { keeps = true, most = 3e6, isPlain = false } = {}) {
  const S = system(problem, keeps, isPlain);
  const { d, diagonal, s, half, extremes, unit, flow } = S;
  const map = mapOf(problem, S);
  let wait = 0;
  let computed = 0;
  let settled = 0;
  let diverged = NaN;
  let arrived = NaN;
  let isSpent = false;
  if (keeps) record(S);
  while (computed < most) {
    if (S.n >= S.most) {
      isSpent = S.keepsPsd || isPsd({ M: S.index.map((row) => row.map((e) => S.X[e])) });
      if (isSpent) break;
      S.most = Infinity; // what is no longer U U^T runs away
    }
    if (wait <= 0) {
      restoreNulls(S);
      flush(S);
      if (jump(S)) {
        const loss = testLoss(S, S.X);
        if (S.heading <= 0 && loss < extremes[0]) [extremes[0], extremes[2]] = [loss, S.n];
        if (S.heading >= 0 && loss > extremes[1]) [extremes[1], extremes[3]] = [loss, S.n];
        continue;
      }
      wait = S.block;
    }
    const before = Array.from(half);
    const wasNear = S.stop < Infinity;
    const result = advance(S, map, Math.min(wait, S.most - S.n));
    computed += S.done;
    wait -= S.done;
    if (flow !== null) {
      // Y is where the last step began: the real step inside it is searched for.
      for (let k = 0; k < d; k++) {
        if (half[k] === before[k]) continue;
        const share = crossing(S, map, (V) => V[diagonal[k]] * s[k] >= 0.5);
        half[k] = Math.max(1, Math.ceil((S.n - 1 + share) * unit - 1e-9));
      }
      if (S.stop === Infinity) settled = 0;
      else if (!wasNear) settled = S.n - 1 + crossing(S, map, (V) => distance(S, V) <= NEAR);
    }
    if (result === LEFT_RANGE) {
      // A modified flow says nothing of large W: the steps themselves are computed.
      if (S.isModified) return run(problem, { keeps, most, isPlain: true });
      diverged = S.n;
      break;
    }
    if (result === ARRIVED) {
      arrived = S.away + 1;
      break;
    }
    if (keeps && result !== GOES_ON) record(S);
  }
  if (keeps && Number.isNaN(diverged)) record(S);
  if (keeps && arrived > 0 && S.n < S.stop && S.stop < Infinity) {
    S.n = S.stop;
    record(S);
  }
  const end = arrived > 0 ? Math.ceil((settled || arrived) * unit - 1e-9) : NaN;
  return {
    ...outcome(S, diverged, arrived, isSpent),
    end,
    diverged: diverged * unit,
    computed,
    eta: problem.eta,
  };
}

/** What one computed step does to X, or the slope that is integrated. */
function mapOf({ signal, eta, dynamics }, { d, isModified }) {
  if (!isModified) return STEP[dynamics][d];
  const top = descending(signal)[0];
  return modifiedField(dynamics, d, top, eta * signal[top]);
}

/** Steps of a run that never rests, as those of swingby.simulate. */
function mostSteps(signal, eta, dynamics, { M, log }) {
  const slowest = Math.min(...signal.filter((a) => a > 0));
  const logs = M.map((row, k) => (row[k] > 0 ? Math.log(row[k]) + log : 0));
  const growth = GROWTH[dynamics](slowest, slowest, eta);
  return Math.ceil(ALLOWED_STEPS(growth, Math.min(0, ...logs)));
}

/** All that a run has in hand. */
function system({ signal, testPoint, eta, dynamics, start }, keeps, isPlain) {
  const d = signal.length;
  const pairs = entryPairs(d);
  const E = pairs.length;
  const index = entryIndex(d);
  const top = Math.max(...signal);
  const isModified = dynamics !== "flow" && !isPlain && eta * top < SMALL_STEP;
  const isFlow = dynamics === "flow" || isModified;
  const h = isFlow ? FLOW_STEP / (2 * top) : eta;
  const unit = h / eta; // steps of eta in a computed step
  const perStep = (rate) => (rate * unit) / Math.LN2;
  const allowed = mostSteps(signal, eta, dynamics, start);
  const isFree = signal.map((a) => a === 0);
  const isNull = KEEPS_PSD[dynamics] ? nullConcepts(signal, start) : Array(d).fill(false);
  const table = (rate) =>
    signal.map((ai) => signal.map((aj) => perStep(rate[dynamics](ai, aj, eta))));
  const growth = pairs.map(([i, j]) => perStep(GROWTH[dynamics](signal[i], signal[j], eta)));
  const S = {
    d,
    E,
    pairs,
    index,
    growth,
    isNull,
    isFree,
    keeps,
    rows: Int8Array.from(pairs, (pair) => pair[0]),
    columns: Int8Array.from(pairs, (pair) => pair[1]),
    diagonal: Int32Array.from(signal, (_, k) => index[k][k]),
    r: Float64Array.from(signal, (a) => a * h),
    s: new Float64Array(d),
    m: new Float64Array(d),
    weight: new Float64Array(E),
    X: new Float64Array(E),
    Y: new Float64Array(E),
    firstRate: table(FIRST),
    bothRate: table(BOTH),
    keepsPsd: KEEPS_PSD[dynamics],
    held: isNull.map((is, k) => (is ? -1 : k)).filter((k) => k >= 0),
    learned: Array(d).fill(false),
    counted: Uint8Array.from(signal, (_, k) => (isNull[k] || isFree[k] ? 0 : 1)),
    unit,
    most: Math.ceil(allowed / unit),
    isModified,
    ...(isFlow ? OF_FLOWS : OF_MAPS),
    stepRates: signal.map((a) => a * eta),
    flow: isFlow ? flowMemory(d, E) : null,
    half: new Float64Array(d).fill(-1),
    peak: new Float64Array(E),
    peakStep: new Float64Array(E),
    testPoint: Float64Array.from(testPoint),
    rest: new Float64Array(d),
    drawn: new Float64Array(E),
    floor: Math.pow(10, Math.max(-290, start.log * Math.LOG10E - 4)),
    stride: Math.max(1, Math.floor(0.02 / Math.max(1e-9, Math.max(...growth) * Math.LN2))),
    turns: [],
    records: { n: [], logs: [], signs: [], loss: [] },
    n: 0,
    away: 0,
    stop: Infinity,
    heading: 0,
    done: 0,
    jumps: 0,
  };
  // The size of W(0) goes to the powers of two, half to a row and half to a column.
  const bits = start.log / Math.LN2;
  const size = Math.max(...start.M.flat().map(Math.abs));
  const shift = Math.min(0, Math.round((bits + Math.log2(size)) / 2));
  const lift = bits - 2 * shift;
  S.m.fill(shift);
  pairs.forEach(([i, j], e) => {
    S.X[e] = start.M[i][j] * (Math.abs(lift) < 1000 ? Math.pow(2, lift) : 0);
  });
  weigh(S);
  for (let k = 0; k < d; k++) if (S.X[S.diagonal[k]] * S.s[k] >= 0.5) S.half[k] = 0;
  for (let e = 0; e < E; e++) S.peak[e] = Math.abs(S.X[e] * S.weight[e]);
  S.loss0 = testLoss(S, S.X);
  S.swing = LOSS_SWING * S.loss0;
  /** Lowest and highest test loss since its last turn, and their steps. */
  S.extremes = Float64Array.of(S.loss0, S.loss0, 0, 0);
  return S;
}

function flowMemory(d, E) {
  const slopes = Array.from({ length: 12 }, () => new Float64Array(E));
  return {
    slopes,
    probe: new Float64Array(E),
    rates: new Float64Array(d),
    between: new Float64Array(E),
  };
}

/** The weights of entries of X in W, after exponents have changed. */
function weigh({ d, E, m, s, weight, rows, columns }) {
  for (let k = 0; k < d; k++) s[k] = Math.pow(2, 2 * m[k]);
  for (let e = 0; e < E; e++) weight[e] = Math.pow(2, m[rows[e]] + m[columns[e]]);
}

/** |W x - x|^2 / 2 at the test point. */
function testLoss({ d, E, weight, rows, columns, testPoint, rest }, V) {
  for (let k = 0; k < d; k++) rest[k] = -testPoint[k];
  for (let e = 0; e < E; e++) {
    const w = V[e] * weight[e];
    rest[rows[e]] += w * testPoint[columns[e]];
    if (rows[e] !== columns[e]) rest[columns[e]] += w * testPoint[rows[e]];
  }
  return rest.reduce((sum, x) => sum + x * x, 0) / 2;
}

/** How far W is from the identity, on what can be learned. */
function distance({ E, weight, rows, columns, counted }, V) {
  let largest = 0;
  for (let e = 0; e < E; e++) {
    if (!counted[rows[e]] || !counted[columns[e]]) continue;
    largest = Math.max(largest, Math.abs(V[e] * weight[e] - (rows[e] === columns[e] ? 1 : 0)));
  }
  return largest;
}

/** The share of the last step of the flow after which something is first true. */
function crossing({ flow, Y, r, s }, map, isTrue) {
  let low = 0;
  let high = 1;
  for (let p = 0; p < 40; p++) {
    const middle = (low + high) / 2;
    rungeKutta(flow, map, Y, r, s, middle, flow.between);
    if (isTrue(flow.between)) high = middle;
    else low = middle;
  }
  return high;
}

function writeRecord({ E, rows, columns, m, unit, records, ...S }, V, step) {
  const logs = new Float64Array(E);
  const signs = new Int8Array(E);
  for (let e = 0; e < E; e++) {
    logs[e] = Math.log10(Math.abs(V[e])) + (m[rows[e]] + m[columns[e]]) * Math.LOG10E * Math.LN2;
    signs[e] = Math.sign(V[e]);
  }
  records.n.push(step * unit);
  records.logs.push(logs);
  records.signs.push(signs);
  records.loss.push(testLoss({ E, rows, columns, ...S }, V));
}

function record(S) {
  writeRecord(S, S.X, S.n);
  const { n } = S.records;
  if (n.length > MOST_RECORDS) {
    S.stride *= 2;
    for (const name of Object.keys(S.records))
      S.records[name] = S.records[name].filter((_, p) => p % 2 === 0 || p === n.length - 1);
  }
  for (let e = 0; e < S.E; e++) S.drawn[e] = S.X[e] * S.weight[e];
}

/** Entries between two learned concepts that have decayed are 0. */
function flush({ E, X, s, weight, rows, columns, diagonal }) {
  const isThere = (k) => Math.abs(X[diagonal[k]] * s[k] - 1) < 1e-6;
  for (let e = 0; e < E; e++) {
    const isSmall = rows[e] !== columns[e] && Math.abs(X[e]) * weight[e] < GONE;
    if (isSmall && isThere(rows[e]) && isThere(columns[e])) X[e] = 0;
  }
}

/** gd and the flow keep the rank, which rounding would fill: zero pivots are made zero again. */
function restoreNulls({ d, X, index, isNull, held }) {
  if (held.length === d || !held.length) return;
  const inverse = inverted(held.map((k) => held.map((l) => X[index[k][l]])));
  for (let i = 0; i < d; i++) {
    for (let j = i; j < d; j++) {
      if (!isNull[i] || !isNull[j]) continue;
      let sum = 0;
      held.forEach((k, p) => {
        held.forEach((l, q) => {
          sum += X[index[i][k]] * inverse[p][q] * X[index[l][j]];
        });
      });
      X[index[i][j]] = sum;
    }
  }
}

/** What became of a run: a word, the concept that is the reason, and its events. */
function outcome(S, diverged, arrived, isSpent) {
  const { diagonal, half, isNull, isFree, turns, records, unit, pairs, peak, peakStep } = S;
  const halfTimes = Array.from(half, (step) => (step < 0 ? NaN : step));
  const isWaiting = (step, k) => Number.isNaN(step) && !isFree[k];
  const waiting = halfTimes.map((step, k) => (isWaiting(step, k) ? k : -1)).filter((k) => k >= 0);
  const trapped = isNull.findIndex((is, k) => is && !isFree[k]);
  let word = isSpent ? "stopped" : "unfinished";
  let culprit = trapped;
  if (diverged >= 0) {
    culprit = waiting.length ? waiting[0] : [...diagonal].findIndex((e) => S.X[e] < 0);
    // The first concept whose w_kk was below 0, else the first that was not learned.
    let earliest = Infinity;
    for (const k of waiting) {
      const at = records.signs.findIndex((signs) => signs[diagonal[k]] < 0);
      if (at >= 0 && at < earliest) [earliest, culprit] = [at, k];
    }
    // Where W stays U U^T no pivot turns negative: it is W as a whole that overshoots.
    word = S.keepsPsd || culprit < 0 ? "diverged" : "runaway";
  } else if (trapped >= 0 && (arrived >= 0 || waiting.every((k) => isNull[k]))) word = "trapped";
  else if (arrived >= 0) word = "converged";
  const peaks = pairs
    .map(([i, j], e) => ({ i, j, value: peak[e], step: peakStep[e] }))
    .filter(({ i, j }) => i !== j);
  const descents = turns.filter((turn) => turn.isTop).length;
  const { loss0, jumps } = S;
  return {
    half: halfTimes,
    word,
    culprit,
    waiting,
    descents,
    turns,
    loss0,
    peaks,
    jumps,
    records,
    pairs,
    last: S.n * unit,
  };
}
