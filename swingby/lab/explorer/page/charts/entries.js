/* The entries of W over the steps, with predicted stage times as triangles. */
"use strict";

/** Pixels below the line of 1 where the label of ½ begins to have room. */
const LABEL_ROOM = 3;

/** Values of a record entry on a linear axis. */
const entryValue = ({ logs, signs }, p, e) => signs[p][e] * Math.pow(10, logs[p][e]);

function drawEntries(host, result, law, view) {
  const [width, height] = sizeOf(host);
  const top = 34;
  const bottom = height - 24;
  const { X, right, markup } = stepAxis(view, width, bottom);
  const scale = entryScale(result, view, top, bottom);
  const styles = lineStyles(result.pairs);
  const { n } = result.records;
  let body = clipMarkup(`clip-${host.id}`, LEFT, top - 4, right - LEFT, bottom - top + 4);
  for (const [value, label] of scale.grid) {
    const y = scale.Y(value);
    body += ruleMarkup(LEFT, y, right, y, "grid") + textMarkup(LEFT - 8, y + 4, label, "end");
  }
  const half = scale.Y(view.logEntries ? Math.log10(0.5) : 0.5);
  const thin = 'stroke-width=".8" stroke-dasharray="1 3"';
  body += markup + ruleMarkup(LEFT, half, right, half, "soft", thin);
  // Over many decades ½ is at 1, which has its own label.
  const isApart = half - scale.Y(0) > LABEL_ROOM;
  if (height > 300 && view.logEntries && isApart) body += textMarkup(LEFT - 8, half + 13, "½", "end");
  const marks = stageMarks(law, view, X);
  body += stageMarkup(marks, top, bottom, right);
  // Diagonal entries last, on top of the others.
  const order = result.pairs.map((_, e) => e);
  order.sort(
    (p, q) =>
      (result.pairs[p][0] === result.pairs[p][1]) - (result.pairs[q][0] === result.pairs[q][1]),
  );
  const lines = order.map((e) => entryLines(result.records, e, styles[e], X, scale));
  body += `<g clip-path="url(#clip-${host.id})">${lines.join("")}</g>`;
  body += peakNames(result, styles, X, scale, { top, bottom, right });
  if (height > 200) body += titleMarkup(view, marks, right);
  const svg = show(host, view.label, `${body}<g class="cursor"></g>`);
  const cursor = svg.querySelector(".cursor");
  const mark = (p) => {
    const points = result.pairs.map((_, e) => {
      const value = scale.valueOf(result.records, p, e);
      if (!(value >= scale.low && value <= scale.high)) return "";
      return `<circle cx="${X(n[p])}" cy="${scale.Y(value)}" r="3.2" fill="${styles[e].color}" stroke="var(--paper)"/>`;
    });
    cursor.innerHTML =
      ruleMarkup(X(n[p]), top, X(n[p]), bottom, "ink", 'stroke-width=".8"') + points.join("");
  };
  return { cursor, mark, left: LEFT, right };
}

/** The vertical scale: decimal logarithms of sizes, or values. */
function entryScale({ records, pairs }, view, top, bottom) {
  const { n, logs } = records;
  if (view.logEntries) {
    const finite = Array.from(logs[0]).filter(Number.isFinite);
    const low = Math.floor(Math.min(-1, ...finite) - 0.35);
    const high = 0.6 + (0.6 - low) * 0.015;
    const grid = decades(low, 0, bottom > 280 ? 7 : 5).map((p) => [
      p,
      p === 0 ? "1" : `10${superscript(p)}`,
    ]);
    return {
      low,
      high,
      grid,
      isLog: true,
      Y: (log) => bottom - ((bottom - top) * (log - low)) / (high - low),
      valueOf: (table, p, e) => table.logs[p][e],
    };
  }
  let least = 0;
  let largest = 1;
  for (let p = 0; p < n.length && n[p] <= view.last; p++) {
    for (let e = 0; e < pairs.length; e++) {
      const value = entryValue(records, p, e);
      least = Math.min(least, value);
      largest = Math.max(largest, value);
    }
  }
  const low = Math.max(-1, Math.min(-0.06, least * 1.08));
  const high = Math.min(2, largest * 1.06);
  return {
    low,
    high,
    isLog: false,
    grid: ticks(low, high, 5).map((value) => [value, shortText(value)]),
    Y: (value) => bottom - ((bottom - top) * (value - low)) / (high - low),
    valueOf: entryValue,
  };
}

/** The line of an entry; on a logarithmic axis it ends where its sign changes. */
function entryLines(records, e, { color, dash, width }, X, { Y, low, high, isLog, valueOf }) {
  const room = isLog ? 3 : 9;
  const lines = [[]];
  let sign = 0;
  records.n.forEach((step, p) => {
    const value = valueOf(records, p, e);
    const isBroken = !Number.isFinite(value) || (isLog && sign && records.signs[p][e] !== sign);
    if (isBroken) lines.push([]);
    if (!Number.isFinite(value)) return;
    sign = records.signs[p][e];
    lines.at(-1).push([X(step), Y(Math.max(low - room, Math.min(high + room, value)))]);
  });
  return lines.map((points) => lineMarkup(points, color, width, dash)).join("");
}

/** Where predicted stages are on the axis, from the left. */
function stageMarks(law, view, X) {
  return law.times
    .map((time, k) => ({ time, k, x: X(time) }))
    .filter(({ time }) => time <= view.last)
    .sort((p, q) => p.x - q.x);
}

function stageMarkup(marks, top, bottom, right) {
  let taken = -Infinity;
  return marks
    .map(({ x, k }) => {
      const at = Math.max(x, taken);
      taken = at + 26;
      const rule = `<path d="M${x} ${top - 4}V${bottom}" stroke="${MAJOR[k]}" stroke-dasharray="1 3"/>`;
      const triangle = `<path d="M${x - 5.5} ${top - 14}h11l-5.5 9z" fill="${MAJOR[k]}"/>`;
      return (
        rule +
        triangle +
        nameMarkup(Math.min(at, right - 14), top - 19, `t${subscript(k + 1)}`, MAJOR[k])
      );
    })
    .join("");
}

/** The title, at the side where no stage is marked. */
function titleMarkup(view, marks, right) {
  const title = view.logEntries ? "size of the entries of W" : "entries of W";
  const room = 12 + 6 * title.length;
  if (marks.every(({ x }) => x > room)) return textMarkup(4, 11, title, "start", 'class="title"');
  const isFree = marks.every(({ x }) => x < right - room);
  return isFree ? textMarkup(right, 11, title, "end", 'class="title"') : "";
}

/** Names of the minor entries at their peaks, where there is room. */
function peakNames({ peaks, pairs }, styles, X, { Y, isLog }, { top, bottom, right }) {
  const taken = [];
  return peaks
    .map(({ i, j, step, value }) => {
      const x = X(step);
      const y = Y(isLog ? Math.log10(value) : value);
      const isInside = x > LEFT + 22 && x < right - 10 && y > top - 4 && y < bottom - 12;
      if (!(value > (isLog ? 0 : 0.04)) || !isInside || !Number.isFinite(y)) return "";
      const below = Math.max(top + 14, y + (isLog ? 19 : -7));
      if (taken.some(([px, py]) => Math.abs(px - x) < 28 && Math.abs(py - below) < 19)) return "";
      taken.push([x, below]);
      const { color } = styles[pairs.findIndex((pair) => pair[0] === i && pair[1] === j)];
      const halo = ";paint-order:stroke;stroke:var(--paper);stroke-width:3px";
      return nameMarkup(x, below, entryName(i, j), color, "middle", halo);
    })
    .join("");
}
