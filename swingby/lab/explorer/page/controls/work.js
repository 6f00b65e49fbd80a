/*
 * Who computes: light runs the page itself, in the same frame; long ones a worker, and another
 * the runs of all seeds. Where workers are forbidden, the page computes all in short pieces.
 */
"use strict";

/** Steps that the page computes itself. */
const LIGHT_STEPS = 60000;
/** A run is computed for about this, over its growth per step, at each stage. */
const STEPS_PER_STAGE = 50;
/** Milliseconds before the runs of all seeds begin, so that a slider can be moved. */
const PATIENCE = 120;

const workers = { areOff: false, run: null, seeds: null, isBusy: false };
let runJob = 0;
let seedsJob = "";
let seedsTimer = 0;
let workerSource = null;

function newWorker(onAnswer, onFailure) {
  try {
    if (workerSource === null) {
      const numbers = JSON.stringify(element("normals").textContent.trim());
      const texts = [element("engine").textContent, `\nsetNormals(${numbers});`];
      workerSource = URL.createObjectURL(new Blob(texts, { type: "text/javascript" }));
    }
    const worker = new Worker(workerSource);
    worker.onmessage = ({ data }) => onAnswer(data);
    worker.onerror = (event) => {
      event.preventDefault();
      if (workers.areOff) return;
      Object.assign(workers, { areOff: true, run: null, seeds: null, isBusy: false });
      onFailure();
    };
    return worker;
  } catch {
    workers.areOff = true;
    return null;
  }
}

/** About how many steps a run computes; waiting is jumped over. */
function stepsEstimate({ signal, eta, dynamics }) {
  const positive = signal.filter((a) => a > 0);
  const top = Math.max(...positive);
  const spread = top / Math.min(...positive);
  if (dynamics === "flow") return 4000 * spread;
  if (eta * top < SMALL_STEP) return 8000 * spread;
  return positive.reduce((sum, a) => sum + STEPS_PER_STAGE / GROWTH[dynamics](a, a, eta), 0);
}

/** Compute a run: `onRun(result, milliseconds)`, at once or later; earlier ones are forgotten. */
function askRun(problem, { onRun, onWait, onFailure }) {
  const job = ++runJob;
  if (stepsEstimate(problem) >= LIGHT_STEPS && !workers.areOff) {
    if (workers.run && workers.isBusy) {
      workers.run.terminate(); // a run cannot be interrupted otherwise
      workers.run = null;
    }
    workers.run ??= newWorker(onWorkerRun, onFailure);
    if (workers.run) {
      workers.onRun = (data) => data.id === runJob && onRun(data.result, data.milliseconds);
      workers.isBusy = true;
      workers.run.postMessage({ id: job, kind: "run", problem });
      onWait();
      return;
    }
  }
  const began = performance.now();
  const result = run(problem, { most: workers.areOff ? 1e6 : 4 * LIGHT_STEPS });
  onRun(result, performance.now() - began);
}

function onWorkerRun(data) {
  workers.isBusy = false;
  workers.onRun(data);
}

/** Compute the runs of all seeds: `onRuns(runs, isDone)`, again and again. */
function askSeeds(problem, onRuns, onFailure) {
  const job = JSON.stringify(problem);
  if (job === seedsJob) return false;
  seedsJob = job;
  clearTimeout(seedsTimer);
  seedsTimer = setTimeout(() => {
    const answer = ({ id, runs, isDone }) => id === seedsJob && onRuns(runs, isDone);
    workers.seeds ??= workers.areOff ? null : newWorker(answer, onFailure);
    if (workers.seeds) workers.seeds.postMessage({ id: job, kind: "seeds", problem });
    else
      seedRuns(
        problem,
        12,
        () => job === seedsJob,
        (runs, isDone) => answer({ id: job, runs, isDone }),
      );
  }, PATIENCE);
  return true;
}
