/* The test loss over the steps, with rings where it turns. */
"use strict";

/** Rings of a test loss that turns at every step would be one band. */
const MOST_RINGS = 400;

function drawLoss(host, result, view) {
  const [width, height] = sizeOf(host);
  const top = 20;
  const bottom = height - 24;
  const { X, right, markup } = stepAxis(view, width, bottom);
  const { n, loss } = result.records;
  const inside = loss.filter((value, p) => n[p] <= view.last && value < 3 * result.loss0);
  const high = largestOf(inside, result.loss0) * 1.06;
  const Y = (value) => bottom - ((bottom - top) * Math.min(value, high * 1.5)) / high;
  let body = clipMarkup("clip-loss", LEFT, top - 4, right - LEFT, bottom - top + 6);
  for (const value of ticks(0, high, 3)) {
    const y = Y(value);
    body +=
      ruleMarkup(LEFT, y, right, y, "grid") + textMarkup(LEFT - 8, y + 4, shortText(value), "end");
  }
  const points = loss.map((value, p) => [X(n[p]), Y(value)]);
  const area = `${pathText(points)}L${points.at(-1)[0].toFixed(1)} ${bottom}L${LEFT} ${bottom}z`;
  const line = lineMarkup(points, "var(--ink)", 2);
  body += markup;
  body += `<g clip-path="url(#clip-loss)"><path d="${area}" fill="var(--ink)" opacity=".06"/>${line}</g>`;
  for (const { step, value } of result.turns.slice(0, MOST_RINGS)) {
    if (step <= 0 || step > view.last) continue;
    const ring = 'r="4" fill="var(--paper)" stroke="var(--ink)" stroke-width="1.6"';
    body += `<circle cx="${X(step)}" cy="${Y(value)}" ${ring}/>`;
  }
  body += `${textMarkup(4, 11, "test loss", "start", 'class="title"')}<g class="cursor"></g>`;
  const cursor = show(host, view.lossLabel, body).querySelector(".cursor");
  const mark = (p) => {
    const rule = ruleMarkup(X(n[p]), top, X(n[p]), bottom, "ink", 'stroke-width=".8"');
    cursor.innerHTML = `${rule}<circle cx="${X(n[p])}" cy="${Y(loss[p])}" r="3.4" fill="var(--ink)"/>`;
  };
  return { cursor, mark };
}
