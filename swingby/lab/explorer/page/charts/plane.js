/* The output at the test point in a plane of two concepts, between the clusters. */
"use strict";

/** Training points drawn of a cluster. */
const POINTS = 26;

/** Outputs W x of every record. */
function outputs({ records, pairs }, x) {
  return records.n.map((_, p) => {
    const y = x.map(() => 0);
    pairs.forEach(([i, j], e) => {
      const w = entryValue(records, p, e);
      y[i] += w * x[j];
      if (i !== j) y[j] += w * x[i];
    });
    return y;
  });
}

/** Numbers like those of a standard normal, for the dots of clusters: normalized entries of U(0). */
const clusterNormal = (index) => normals[(index * 7) % normals.length];

function drawPlane(host, result, { mu, sigma }, [p, q], label) {
  const [width, height] = sizeOf(host);
  const path = outputs(result, mu);
  const frame = { left: 44, top: 14, right: width - 12, bottom: height - 32 };
  const { left, top, right, bottom } = frame;
  const [lowX, highX] = planeRange(path, mu, sigma, p, q);
  const [lowY, highY] = planeRange(path, mu, sigma, q, p);
  const X = (value) => left + ((right - left) * (value - lowX)) / (highX - lowX);
  const Y = (value) => bottom - ((bottom - top) * (value - lowY)) / (highY - lowY);
  let body = clipMarkup("clip-plane", left, top, right - left, bottom - top);
  for (const value of ticks(lowX, highX, 4)) {
    body += ruleMarkup(X(value), top, X(value), bottom, "grid");
    body += textMarkup(X(value), bottom + 16, shortText(value));
  }
  for (const value of ticks(lowY, highY, 4)) {
    body += ruleMarkup(left, Y(value), right, Y(value), "grid");
    body += textMarkup(left - 7, Y(value) + 4, shortText(value), "end");
  }
  body += ruleMarkup(X(0), top, X(0), bottom, "line") + ruleMarkup(left, Y(0), right, Y(0), "line");
  body += nameMarkup(right, bottom + 29, `concept ${p + 1}`, MAJOR[p], "end");
  body += `<g transform="translate(11 ${top}) rotate(-90)">${nameMarkup(0, 0, `concept ${q + 1}`, MAJOR[q], "end")}</g>`;
  const clusters = mu.map((m, k) => (m > 0 ? clusterMarkup(k, m, sigma, [p, q], X, Y) : ""));
  const points = path.map((y) => [X(bounded(y[p])), Y(bounded(y[q]))]);
  const halves = result.half.map((step, k) => halfMarkup(result, path, step, k, [p, q], X, Y));
  const star = starMarkup(X(mu[p]), Y(mu[q]));
  const line = lineMarkup(points, "var(--ink)", 2.2);
  body += `<g clip-path="url(#clip-plane)">${clusters.join("")}${line}${halves.join("")}${star}</g>`;
  body += textMarkup(X(mu[p]) - 12, Y(mu[q]) - 8, "test point", "end", 'class="title"');
  const cursor = show(host, label, `${body}<g class="cursor"></g>`).querySelector(".cursor");
  const mark = (index) => {
    const y = path[index];
    const isInside = Math.abs(y[p]) < 1e3 * (mu[p] + 1) && Math.abs(y[q]) < 1e3 * (mu[q] + 1);
    const ring = 'r="6.5" fill="none" stroke="var(--ink)" stroke-width="2"';
    cursor.innerHTML = isInside ? `<circle cx="${X(y[p])}" cy="${Y(y[q])}" ${ring}/>` : "";
  };
  return { cursor, mark };
}

const bounded = (value) => Math.max(-9e3, Math.min(9e3, value));

/** The range of an axis: its cluster, and the path as long as it is in sight. */
function planeRange(path, mu, sigma, along, across) {
  const size = mu[along] || Math.max(...mu) / 4;
  let low = -Math.max(0.12 * size, 2.6 * sigma[along]);
  let high = (size + 3 * sigma[along]) * 1.16;
  for (const y of path) {
    if (Math.abs(y[along]) > 2.5 * size || Math.abs(y[across]) > 2.5 * (mu[across] || size))
      continue;
    low = Math.min(low, y[along] - 0.03 * size);
    high = Math.max(high, y[along] * 1.05);
  }
  return [low, high];
}

/** Points of a cluster and its ellipse of two standard deviations. */
function clusterMarkup(k, centre, sigma, [p, q], X, Y) {
  const cx = k === p ? centre : 0;
  const cy = k === q ? centre : 0;
  let dots = "";
  for (let n = 0; n < POINTS; n++) {
    const index = 2 * (POINTS * k + n);
    const x = X(cx + sigma[p] * clusterNormal(index));
    const y = Y(cy + sigma[q] * clusterNormal(index + 1));
    dots += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="1.7" fill="${MAJOR[k]}" opacity=".55"/>`;
  }
  const rx = Math.max(5, Math.abs(X(2 * sigma[p]) - X(0)));
  const ry = Math.max(5, Math.abs(Y(2 * sigma[q]) - Y(0)));
  const look = `fill="${MAJOR[k]}" fill-opacity=".13" stroke="${MAJOR[k]}" stroke-width="1.4"`;
  return `${dots}<ellipse cx="${X(cx)}" cy="${Y(cy)}" rx="${rx}" ry="${ry}" ${look}/>`;
}

/** The point of the path where a concept passes one half. */
function halfMarkup({ records }, path, step, k, [p, q], X, Y) {
  if (!(step >= 0)) return "";
  const at = records.n.findIndex((n) => n >= step);
  const y = at < 0 ? path.at(-1) : path[at];
  const look = `fill="${MAJOR[k]}" stroke="var(--paper)" stroke-width="1.5"`;
  return `<circle cx="${X(y[p])}" cy="${Y(y[q])}" r="5" ${look}/>`;
}

const starMarkup = (x, y) =>
  `<path transform="translate(${x} ${y})" d="M0-9 2.6-2.6 9 0 2.6 2.6 0 9-2.6 2.6-9 0-2.6-2.6z" fill="var(--ink)" stroke="var(--paper)"/>`;
