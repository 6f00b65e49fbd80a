/* Numbers and names as text of pictures and sentences. */
"use strict";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const subscript = (n) => String(n).replace(/\d/g, (digit) => SUBSCRIPTS[digit]);
const superscript = (n) =>
  String(n)
    .replace(/\d/g, (digit) => SUPERSCRIPTS[digit])
    .replace("-", "⁻");
const entryName = (i, j) => `w${subscript(i + 1)}${subscript(j + 1)}`;

/** Text inside markup. */
const escaped = (text) =>
  String(text).replace(
    /[&<>"]/g,
    (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c],
  );

/** A number by its decimal logarithm: 3.7·10⁻⁸². */
function powerText(log10, digits = 2) {
  if (!Number.isFinite(log10)) return log10 < 0 ? "0" : "∞";
  let whole = Math.floor(log10 + 1e-12);
  let lead = Math.pow(10, log10 - whole).toPrecision(digits);
  if (lead.startsWith("10")) {
    whole += 1;
    lead = "1";
  }
  const power = `10${superscript(whole)}`;
  return +lead === 1 ? power : `${+lead}·${power}`;
}

/** A number in three digits. */
function shortText(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e5 && size >= 1e-3) return String(+value.toPrecision(3)).replace("-", "−");
  return `${value < 0 ? "−" : ""}${powerText(Math.log10(size))}`;
}

/** A count of steps: digits in groups of three. */
function stepText(step) {
  if (Math.abs(step) >= 1e15) return powerText(Math.log10(step));
  return String(Math.round(step)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** The same on an axis. */
function axisStepText(step) {
  if (step >= 1e15) return powerText(Math.log10(step));
  if (step >= 1e6) return `${+(step / 1e6).toPrecision(4)} M`;
  return step >= 1e4 ? `${+(step / 1e3).toPrecision(4)} k` : stepText(step);
}

/** A, B and C. */
function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
