/* Numbers as they are typed: decimals of any exponent, and quotients such as 1/3. */
"use strict";

const DECIMAL = /^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/;
const QUOTIENT = /^\s*([-+]?\d+)\s*\/\s*(\d+)\s*$/;
const isQuotient = (text) => QUOTIENT.test(text) && +QUOTIENT.exec(text)[2] > 0;
const isNumber = (text) => DECIMAL.test(text) || isQuotient(text);

/** The value of a number as it is typed, else NaN. */
function valueOf(text) {
  if (DECIMAL.test(text)) return +text;
  if (!isQuotient(text)) return NaN;
  const [, above, below] = QUOTIENT.exec(text);
  return +above / +below;
}

/** Whether a number is 0 as it is typed, and not by underflow. */
const isZero = (text) => !/[1-9]/.test(text.split(/[eE/]/)[0]);

/** The decimal logarithm of a positive number of any size, else NaN. */
function log10Of(text) {
  if (isQuotient(text)) return Math.log10(valueOf(text));
  const [, digits, exponent] = /^\s*\+?([\d.]+)(?:[eE]([-+]?\d+))?\s*$/.exec(text) || [];
  return digits === undefined ? NaN : Math.log10(+digits) + (exponent ? +exponent : 0);
}

/** A number as a person types it. */
function typedText(value, digits = 3) {
  const text = String(+value.toPrecision(digits));
  return text.replace(/^0\.000*\d+$/, (small) => (+small).toExponential()).replace("+", "");
}

/** The same of a power of ten of any size, in two digits. */
function typedPower(log10) {
  let whole = Math.floor(log10 + 1e-9);
  let lead = +Math.pow(10, log10 - whole).toPrecision(2);
  if (lead >= 10) [lead, whole] = [1, whole + 1];
  return Math.abs(whole) < 3 ? typedText(lead * Math.pow(10, whole), 2) : `${lead}e${whole}`;
}

/** M_ij exp(log) in full digits. */
function scaledText(value, log) {
  if (value === 0) return "0";
  const log10 = Math.log10(Math.abs(value)) + log * Math.LOG10E;
  if (log10 > -290) return String(value * Math.exp(log));
  const whole = Math.floor(log10);
  return `${value < 0 ? "-" : ""}${Math.pow(10, log10 - whole).toPrecision(9)}e${whole}`;
}

const within = (low, value, high) =>
  Math.max(low, Math.min(high, Number.isFinite(value) ? value : low));
const clamped = (share) => within(0, share, 1);

/** Sliders: the text at a share of the track, and the share of a text. */
const SLIDERS = {
  a: {
    text: (share) => typedText(Math.pow(10, -1.3 + share * 2.9)),
    share: (text) => (log10Of(text) + 1.3) / 2.9,
  },
  mu: {
    text: (share) => typedText(0.1 + 3.9 * share),
    share: (text) => (valueOf(text) - 0.1) / 3.9,
  },
  sigma: {
    text: (share) => typedText(share * share * 1.5),
    share: (text) => Math.sqrt(valueOf(text) / 1.5),
  },
  omega: {
    text: (share) => typedPower(-0.3 - 119.7 * Math.pow(1 - share, 2)),
    share: (text) => 1 - Math.sqrt(Math.max(0, (-0.3 - log10Of(text)) / 119.7)),
  },
  eta: {
    text: (share) => typedPower(-6 + 5.7 * share),
    share: (text) => (log10Of(text) + 6) / 5.7,
  },
};
