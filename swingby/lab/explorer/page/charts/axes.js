/* What pictures share: SVG as text in CSS pixels, colours of the style sheet, scales and ticks. */
"use strict";

const MAJOR = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)"];
const MINOR = ["var(--m0)", "var(--m1)", "var(--m2)"];
const DASHES = ["6 3", "2 2.5", "8 3 2 3", "10 4", "1 3", "4 2 1 2"];
/** Room at the left and right of an axis of steps. */
const LEFT = 54;
const RIGHT = 14;

/** Colour, dash and width of every entry: full lines on the diagonal, dashes elsewhere. */
function lineStyles(pairs) {
  let minor = 0;
  return pairs.map(([i, j]) => {
    if (i === j) return { color: MAJOR[i], dash: "", width: 2.4 };
    const style = { color: MINOR[minor % MINOR.length], dash: DASHES[minor], width: 1.6 };
    minor++;
    return style;
  });
}

/** The largest of any number of values, which a call of Math.max cannot take. */
const largestOf = (values, least) => values.reduce((most, value) => Math.max(most, value), least);

/** Sizes are read once: reading them after drawing would force a layout for each picture. */
const measuredSizes = new Map();
function sizeOf(host) {
  if (!measuredSizes.has(host)) {
    measuredSizes.set(host, [Math.max(240, host.clientWidth), host.clientHeight]);
  }
  return measuredSizes.get(host);
}

/** Draw a picture into its element. */
function show(host, label, body) {
  const [width, height] = sizeOf(host);
  const name = escaped(label);
  host.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}">${body}</svg>`;
  return host.firstChild;
}

const pathText = (points) =>
  `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

function lineMarkup(points, color, width, dash = "") {
  if (points.length < 2) return "";
  const dashes = dash && ` stroke-dasharray="${dash}"`;
  const stroke = `fill="none" stroke="${color}" stroke-width="${width}" stroke-linejoin="round"`;
  return `<path d="${pathText(points)}" ${stroke}${dashes}/>`;
}

const ruleMarkup = (x1, y1, x2, y2, color, more = "") =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="var(--${color})" ${more}/>`;
const textMarkup = (x, y, text, anchor = "middle", more = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${more}>${text}</text>`;
const clipMarkup = (id, x, y, width, height) =>
  `<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>`;
const nameMarkup = (x, y, text, color, anchor = "middle", more = "") =>
  textMarkup(x, y, text, anchor, `class="name" style="fill:${color}${more}"`);

/** Round numbers between two. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const unit = Math.pow(10, Math.floor(Math.log10(raw)));
  const by = [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw * 0.999) * unit;
  const values = [];
  for (let value = Math.ceil(low / by - 1e-9) * by; value <= high + by * 1e-9; value += by) {
    values.push(Math.abs(value) < by * 1e-9 ? 0 : value);
  }
  return values;
}

/** Whole powers of ten between two. */
function decades(low, high, count) {
  const by = [1, 2, 5, 10, 20, 25, 50, 100].find((width) => (high - low) / width <= count) || 200;
  const values = [];
  for (let value = Math.ceil(low / by) * by; value <= high + 1e-9; value += by) values.push(value);
  return values;
}

/** The axis of steps, linear or logarithmic: where a step lies, its ticks, its markup. */
function stepAxis({ last, isLog }, width, bottom) {
  const right = width - RIGHT;
  const top = Math.log10(1 + last);
  const share = (step) => (isLog ? Math.log10(1 + step) / top : step / last);
  const X = (step) => LEFT + (right - LEFT) * share(step);
  const count = width > 600 ? 7 : 4;
  const values = isLog
    ? decades(0, top, count).map((power) => Math.pow(10, power))
    : ticks(0, last, count);
  const markup = values.map((step, rank) => {
    const label = rank ? axisStepText(step) : `step ${step}`;
    const mark = ruleMarkup(X(step), bottom, X(step), bottom + 4, "line");
    return mark + textMarkup(X(step), bottom + 17, label);
  });
  return { X, right, markup: markup.join("") + ruleMarkup(LEFT, bottom, right, bottom, "line") };
}

/** The step at a share of the axis. */
function stepAt(share, { last, isLog }) {
  return isLog ? Math.pow(10, share * Math.log10(1 + last)) - 1 : share * last;
}
