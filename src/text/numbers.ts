import { NS_PER_MS, NS_PER_S } from '../base/units.js';

/** Rounds to at most this many significant digits. */
export function significant(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

/** Rounds to at most this many decimals. */
export function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** Rounds to three digits, to a whole number from 1,000 on. */
export function round3(value: number): number {
  return value >= 1000 ? Math.round(value) : significant(value, 3);
}

/** ns as seconds, exact to the µs. */
export function toSeconds(ns: number): number {
  return rounded(ns / NS_PER_S, 6);
}

/** ns as milliseconds, exact to the µs. */
export function toMs(ns: number): number {
  return rounded(ns / NS_PER_MS, 3);
}

/** Requests per second, or any positive figure of that size: about three digits; `–` where there is nothing to measure. */
export function formatRate(value: number | null): string {
  if (value === null) return '–';
  if (value >= 10_000) return withThousands(Math.round(value));
  if (value >= 100) return withThousands(rounded(value, 1));
  // A small value must not look like none.
  if (value > 0 && value < 0.005) return '<0.01';
  return String(rounded(value, value >= 10 ? 1 : 2));
}

/** A rate with its unit: `480/s`. */
export function formatPerSecond(value: number | null): string {
  return value === null ? '–' : `${formatRate(value)}/s`;
}

export function formatCount(value: number): string {
  return withThousands(Math.round(value));
}

/** A share of one as a percentage; `–` if there is nothing to measure. 0 % means exactly none, 100 % exactly all. */
export function formatPercent(share: number | null): string {
  if (share === null) return '–';
  const percent = share * 100;
  if (percent > 0 && percent < 0.05) return '<0.1 %';
  if (percent > 99.9 && percent < 100) return percent >= 99.99 ? '>99.99 %' : `${percent.toFixed(2)} %`;
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** A share for tables, with one decimal and no sign: `94.2`. */
export function formatPercentCell(share: number | null): string {
  if (share === null) return '–';
  const percent = share * 100;
  if (percent > 0 && percent < 0.05) return '<0.1';
  return (percent < 100 && percent >= 99.95 ? 99.9 : percent).toFixed(1);
}

/** A factor: `7.0×`; `–` if unknown. */
export function formatFactor(factor: number | null): string {
  if (factor === null) return '–';
  if (factor === Number.POSITIVE_INFINITY) return 'from 0';
  if (factor < 0.095) return `${significant(factor, 2)}×`;
  return `${factor >= 100 ? factor.toFixed(0) : factor >= 1.995 ? factor.toFixed(1) : factor.toFixed(2)}×`;
}

/** Milliseconds with the unit; `–` if there is nothing to measure, `never` for Infinity. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms === Number.POSITIVE_INFINITY) return 'never';
  if (ms >= 999.5) return secondsText(ms / 1000);
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

/** `1.68 s`, `2 s`, `12.3 s`. */
function secondsText(seconds: number): string {
  return `${seconds >= 10 ? seconds.toFixed(1) : significant(seconds, 3)} s`;
}

/** An SLO as users write it: `50 ms`, `2 s`. */
export function formatSlo(ms: number): string {
  if (ms >= 1000) return `${significant(ms / 1000, 6)} s`;
  return `${significant(ms, 6)} ms`;
}

function withThousands(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
