/* Half-times of all seeds as dots, a row for each concept, with mean and deviation of the law. */
"use strict";

/** Width of the lane of what is never learned. */
const LANE = 44;

function drawSeeds(host, runs, signal, theory, current, label) {
  const [width, height] = sizeOf(host);
  const left = 26;
  const right = width - LANE - 6;
  const top = 8;
  const bottom = height - 30;
  const concepts = signal.map((_, k) => k).filter((k) => signal[k] > 0);
  const rowHeight = (bottom - top) / concepts.length;
  const bars = theory ? theory.mean.map((mean, k) => mean + theory.deviation[k]) : [];
  const times = runs.flatMap(({ half }) => half).concat(bars);
  const last = largestOf(times.filter(Number.isFinite), 1);
  const X = (step) => left + ((right - left) * step) / (last * 1.02);
  let body = "";
  for (const step of ticks(0, last, 4)) {
    body += ruleMarkup(X(step), top, X(step), bottom, "grid");
    body += textMarkup(X(step), bottom + 16, axisStepText(step));
  }
  const lane = right + 8 + (LANE - 6) / 2;
  body += `<rect x="${right + 8}" y="${top}" width="${LANE - 6}" height="${bottom - top}" rx="4" class="never"/>`;
  body += textMarkup(lane, bottom + 16, "never");
  concepts.forEach((k, rank) => {
    const y = top + rowHeight * rank;
    if (rank) body += ruleMarkup(0, y, width, y, "grid");
    body += nameMarkup(4, y + rowHeight * 0.44 + 4, k + 1, MAJOR[k], "start");
    body += swarm(runs, k, current, { X, lane, middle: y + rowHeight * 0.44, rowHeight });
    if (theory && Number.isFinite(theory.mean[k]))
      body += barMarkup(theory, k, X, y + rowHeight - 9);
  });
  body += textMarkup(right, bottom + 29, "half-time, steps", "end");
  show(host, label, body);
}

/** Dots of a concept: those of about the same step lie above each other. */
function swarm(runs, k, current, { X, lane, middle, rowHeight }) {
  const binOf = (step) => Math.round(X(step) / 5);
  const counts = new Map();
  for (const { half } of runs) {
    if (Number.isFinite(half[k])) counts.set(binOf(half[k]), (counts.get(binOf(half[k])) || 0) + 1);
  }
  const lift = Math.min(5, (rowHeight * 0.78) / largestOf([...counts.values()], 1));
  const placed = new Map();
  const room = rowHeight * 0.4;
  return runs
    .map(({ seed, half }) => {
      const isNever = !Number.isFinite(half[k]);
      const bin = isNever ? "never" : binOf(half[k]);
      const rank = placed.get(bin) || 0;
      placed.set(bin, rank + 1);
      const level = isNever ? Math.floor(rank / 6) : rank;
      const off = (level % 2 ? -1 : 1) * Math.ceil(level / 2) * (isNever ? 5 : lift);
      const x = isNever ? lane + ((rank % 6) - 2.5) * 5.4 : X(half[k]);
      const y = middle + Math.max(-room, Math.min(room, off));
      const isCurrent = seed === current;
      const look = isCurrent
        ? 'r="5" stroke="var(--ink)" stroke-width="1.6"'
        : 'r="2.4" opacity=".55"';
      return `<circle data-seed="${seed}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" fill="${MAJOR[k]}" ${look}/>`;
    })
    .join("");
}

/** Mean and one standard deviation to both sides. */
function barMarkup({ mean, deviation }, k, X, y) {
  const low = X(Math.max(0, mean[k] - deviation[k]));
  const high = X(mean[k] + deviation[k]);
  const ends = `M${low} ${y - 3.5}v7M${high} ${y - 3.5}v7M${low} ${y}H${high}`;
  const bar = `<path d="${ends}" stroke="${MAJOR[k]}" stroke-width="1.6" fill="none"/>`;
  return `${bar}<circle cx="${X(mean[k])}" cy="${y}" r="3.2" fill="${MAJOR[k]}"/>`;
}
