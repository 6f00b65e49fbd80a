/* What a worker does: one run, or the same for every seed, in pieces so that it can be told off. */
"use strict";

/** Steps that a run in a worker, and each of many starts, may compute. */
const MOST_STEPS = 2e7;
const MOST_STEPS_EACH = 4e5;

/** What the figure of many starts needs of the start of a seed. */
function seedRun(problem, seed) {
  const start = gaussianStart(seed, problem.signal.length, problem.width, problem.logOmega);
  const { half, word, descents } = run(
    { ...problem, start },
    { keeps: false, most: MOST_STEPS_EACH },
  );
  return { seed, half, word, descents };
}

/** Runs of all seeds; `post` is called with those of some milliseconds, until isCurrent fails. */
function seedRuns(problem, milliseconds, isCurrent, post, seed = 0) {
  if (!isCurrent()) return;
  const began = performance.now();
  const runs = [];
  while (seed < SEEDS && performance.now() - began < milliseconds)
    runs.push(seedRun(problem, seed++));
  post(runs, seed >= SEEDS);
  if (seed < SEEDS) setTimeout(seedRuns, 0, problem, milliseconds, isCurrent, post, seed);
}

if (typeof document === "undefined") {
  let current = null;
  self.onmessage = ({ data: { id, kind, problem } }) => {
    if (kind === "run") {
      const began = performance.now();
      const result = run(problem, { most: MOST_STEPS });
      postMessage({ id, kind, result, milliseconds: performance.now() - began });
      return;
    }
    current = id;
    seedRuns(
      problem,
      30,
      () => current === id,
      (runs, isDone) => postMessage({ id, kind, runs, isDone }),
    );
  };
}
