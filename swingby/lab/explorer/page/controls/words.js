/* What is said beside the pictures. */
"use strict";

/** What a run came to, in a sentence or two. */
function runSentence(result, { signal, eta, dynamics, start }) {
  const learned = result.half
    .map((step, k) => ({ step, k }))
    .filter(({ step }) => step >= 0)
    .sort((p, q) => p.step - q.step)
    .map(({ step, k }) => `concept ${k + 1} at step ${stepText(step)}`);
  const head = learned.length ? `Learned: ${listed(learned)}` : "No concept is learned";
  const { word, culprit, descents, waiting } = result;
  const name = `Concept ${culprit + 1}`;
  if (word === "converged") {
    const times = ["once", "once", "twice"][descents] || `${descents} times`;
    const swing = descents < 2 ? "the output does not swing by" : "the output swings by";
    const free = signal.some((a) => a === 0) ? " Nothing is learned in a free direction." : "";
    const end = `all within 0.01 from step ${stepText(result.end)} on`;
    return `${head}; ${end}. The test loss falls ${times}: ${swing}.${free}`;
  }
  if (word === "runaway") {
    const end = `and W overflows at step ${stepText(result.diverged)}`;
    return `${head}. ${name} runs away: ${runawayReason(start, end)}`;
  }
  if (word === "diverged") {
    const end = `steps of this size overshoot, and W overflows at step ${stepText(result.diverged)}`;
    return `${head}. W diverges: ${end}. Take a smaller η.`;
  }
  if (word === "trapped") {
    const who = dynamics === "gd" ? "gradient descent" : "the flow";
    return `${head}. ${name} is never learned: W(0) has no component left for it (its pivot is zero), and ${who} keeps the rank.`;
  }
  if (word === "stopped") {
    const end = `W is still not within 0.01 of the identity at step ${stepText(result.last)}, where swingby.simulate stops early as well`;
    const doesOscillate = dynamics !== "flow" && eta * Math.max(...signal) > 1;
    const why = doesOscillate
      ? "steps of this size overshoot the identity (η a is above 1), so W oscillates and cannot rest there. Take a smaller η."
      : "it needs more steps.";
    return `${head}. ${end}: ${why}`;
  }
  const open = waiting.map((k) => entryName(k, k));
  const below = open.length ? `, with ${listed(open)} below ½` : "";
  const limit = `this page computes at most ${stepText(MOST_STEPS)} steps, and this run needs more`;
  return `${head}. The run is cut off at step ${stepText(result.last)}${below}: ${limit}. The predicted times hold all the same, and swingby.simulate goes on.`;
}

/** Why W ran away, and what to change. */
function runawayReason(start, end) {
  if (!isPsd(start)) return `W(0) has a negative eigenvalue, ${end}. Take another W(0).`;
  const reason = "steps of this size do not keep W = U Uᵀ, its pivot turned negative";
  return `${reason}, ${end}. Take a smaller η, or gd.`;
}

const BADGES = {
  converged: ["good", "✓ converged"],
  runaway: ["bad", "✕ runaway"],
  diverged: ["bad", "✕ diverged"],
  trapped: ["bad", "✕ trapped"],
  stopped: ["open", "… stopped early"],
  unfinished: ["open", "… unfinished"],
};

/** A relative error in percent, with its sign. */
function percentText(percent) {
  const size = Math.abs(percent).toFixed(2);
  const sign = +size === 0 ? "" : percent < 0 ? "−" : "+";
  return `${sign}${size} %`;
}

/** Whether W left the range of numbers. */
const hasOverflown = ({ word }) => word === "runaway" || word === "diverged";
/** Whether a run might have gone on. */
const isOpen = ({ word }) => word === "stopped" || word === "unfinished";

/** The table of stages, strongest concept first. */
function stageRows(result, law, { signal, dynamics, eta }) {
  return descending(signal)
    .map((k) => {
      const time = law.times[k];
      const step = result.half[k];
      const isFree = signal[k] === 0;
      const error = step > 0 && Number.isFinite(time) ? 100 * (time / step - 1) : NaN;
      const seen = isOpen(result) && !isFree ? "not yet" : "never";
      const cells = [
        `<span class="dot" style="background:${MAJOR[k]}"></span>${isFree ? "free" : "concept"} ${k + 1}`,
        isFree
          ? "never"
          : Number.isFinite(time)
            ? hasOverflown(result) && time > result.diverged
              ? "cut off"
              : stepText(time < 1e7 ? Math.ceil(time) : time)
            : KEEPS_PSD[dynamics]
              ? "trapped"
              : "runs away",
        step >= 0 ? stepText(step) : seen,
        Number.isFinite(error) ? percentText(error) : "–",
        shortText(signal[k]),
        Number.isFinite(law.logPivots[k]) ? powerText(law.logPivots[k] * Math.LOG10E, 3) : "≤ 0",
        shortText(GROWTH[dynamics](signal[k], signal[k], eta)),
      ];
      return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    })
    .join("");
}

/** The correlation that made the test loss rise, or would have. */
function swingReason(result, { signal }) {
  if (hasOverflown(result)) return "The run above ends otherwise: <i>W</i> overflows.";
  const [first, second] = descending(signal);
  const peak = result.peaks.find(
    ({ i, j }) => i === Math.min(first, second) && j === Math.max(first, second),
  );
  if (!peak || !(peak.value > 0))
    return "In this start the two are not correlated, so there is no swing.";
  const name = `<i>w</i><sub>${peak.i + 1}${peak.j + 1}</sub>`;
  const size = shortText(peak.value);
  const ratio = peak.value * Math.sqrt(signal[first] / signal[second] || 0);
  const follows =
    result.descents > 1
      ? "enough for the test loss to turn"
      : ratio < 0.1
        ? "too little to see: start from a larger <i>ω</i>, or with stronger correlations"
        : "which the fall of the loss outweighs";
  return `In the run above ${name} peaks at ${size}, at step ${stepText(peak.step)}: ${follows}.`;
}

/** Decades of a margin. */
function marginText(margin) {
  if (margin === Infinity) return "any";
  if (margin === -Infinity) return "none";
  if (Math.abs(margin) < 5e-3) return "0 decades";
  return `${margin < 0 ? "−" : "+"}${Math.abs(margin).toFixed(Math.abs(margin) < 10 ? 2 : 1)} decades`;
}

/** Whether D.1 to D.5 hold, and how small omega and eta have to be. */
function assumptionSentence(check, hasConverged) {
  const omega = powerText(check.logLargest * Math.LOG10E, 3);
  let largest = `Constants exist for <i>ω</i> below <b>${omega}</b> and <i>η</i> up to <b>${shortText(check.largestEta)}</b>`;
  if (!check.isPossible)
    largest = "No <i>ω</i> is small enough: a free direction or a zero entry has no α or ω";
  if (!check.isSeparated) {
    largest =
      "No <i>ω</i> is small enough: some signal is not three times the next (<i>a<sub>i</sub></i> ≤ 3 <i>a<sub>j</sub></i>)";
  }
  const { failing, binding } = check;
  if (!failing.length) return `<b>All five hold.</b> ${largest}; ${binding} binds first.`;
  const verb = failing.length > 1 ? "fail" : "fails";
  const all = hasConverged ? " The stages come all the same." : "";
  return `<b>Not all: ${listed(failing)} ${verb}.</b> ${largest}. ${binding} binds.${all}`;
}

/** The share of starts that swing by, and of those that never learn a concept. */
function seedsSentence(runs, signal, logScale) {
  if (!runs.length) return "Running …";
  const percent = (count) => `${Math.round((100 * count) / runs.length)} %`;
  const swings = runs.filter(({ descents }) => descents > 1).length;
  const cut = runs.filter(isOpen).length;
  const lost = signal
    .map((a, k) => {
      const count = runs.filter(
        (result) => a > 0 && !isOpen(result) && !Number.isFinite(result.half[k]),
      ).length;
      return count ? `${percent(count)} never learn concept ${k + 1}` : "";
    })
    .filter(Boolean);
  const fate = lost.length ? `<b>${listed(lost)}</b>.` : "Every start learns every concept.";
  const scale = powerText(logScale * Math.LOG10E);
  const open = cut ? ` ${percent(cut)} were cut off.` : "";
  return `Of Gaussian starts of scale ${scale}, <b>${percent(swings)}</b> swing by: their test loss falls, rises and falls again. ${fate}${open}`;
}

/** The same run in Python. */
function pythonText(state) {
  const { d, eta, dyn } = state;
  const quoted = (values) =>
    values
      .slice(0, d)
      .map((text) => `"${text.trim()}"`)
      .join(", ");
  const task =
    state.mode === "a"
      ? `swingby.SIMTask.from_signal([${quoted(state.a)}])`
      : `swingby.SIMTask(mu=[${quoted(state.mu)}], sigma=[${quoted(state.sigma)}])`;
  const isTyped = state.start === "typed";
  const width = state.width === d ? "" : `, width=${state.width}`;
  const entry = (text) => (isQuotient(text) ? `"${text.trim()}"` : text.trim());
  const rows = typedMatrix(state).map((row) => `[${row.map(entry).join(", ")}]`);
  const start = isTyped
    ? `[${rows.join(", ")}]`
    : `swingby.gaussian(task, omega="${state.omega.trim()}"${width}, rng=${state.seed})`;
  const scale = isTyped || state.scope === "this" ? "W0=W0" : `omega="${state.omega.trim()}"`;
  const options = `eta="${eta.trim()}", dynamics="${dyn}"`;
  return `import swingby

task = ${task}
W0 = ${start}

print(swingby.check(task, ${scale}, ${options}))
print(swingby.compare(task, W0, ${options}))
`;
}

/** The same run as a command. */
function commandText(state) {
  const { d, eta, dyn } = state;
  const list = (values) =>
    values
      .slice(0, d)
      .map((text) => text.trim())
      .join(",");
  const words = ["swingby table"];
  if (state.mode === "a") words.push(`--signal ${list(state.a)}`);
  else words.push(`--mu ${list(state.mu)} --sigma ${list(state.sigma)}`);
  if (state.start === "typed") words.push(`--w0 '${typedMatrix(state).map(list).join(";")}'`);
  else {
    words.push(`--omega ${state.omega.trim()} --seed ${state.seed}`);
    if (state.width !== d) words.push(`--width ${state.width}`);
  }
  words.push(`--eta ${eta.trim()} --dynamics ${dyn}`);
  return words.join(" ");
}
