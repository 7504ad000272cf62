import type { Estimate } from './statistics.js';

/** Requests per second, or any positive figure of that size: about three digits. */
export function formatRate(value: number): string {
  if (value >= 10_000) return withThousands(Math.round(value));
  if (value >= 100) return withThousands(Number(value.toFixed(1)));
  return String(Number(value.toFixed(value >= 10 ? 1 : 2)));
}

export function formatCount(value: number): string {
  return withThousands(Math.round(value));
}

/** A share of one as a percentage. 100 % is written only for all of it. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  if (percent > 99.9 && percent < 100) return percent >= 99.99 ? '>99.99 %' : `${percent.toFixed(2)} %`;
  return `${percent >= 99.95 || percent < 0.005 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** How many times as much: `7.0×`. */
export function formatFactor(factor: number): string {
  if (factor === Number.POSITIVE_INFINITY) return 'from 0';
  return `${factor >= 100 ? factor.toFixed(0) : factor >= 1.995 ? factor.toFixed(1) : factor.toFixed(2)}×`;
}

/** Milliseconds with the unit; `–` where there is nothing to measure. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

/** A latency objective, as a person wrote it: `50 ms`. */
export function formatSlo(ms: number): string {
  return `${Number(ms.toPrecision(6))} ms`;
}

/** The mean of several repetitions, with half of the width of its confidence interval. */
export function withInterval({ mean, high, n }: Estimate): string {
  return n < 2
    ? formatRate(round3(mean))
    : `${formatRate(round3(mean))} ± ${formatRate(Number((high - mean).toPrecision(2)))}`;
}

/** Three digits: more are noise. */
export function round3(value: number): number {
  return value >= 1000 ? value : Number(value.toPrecision(3));
}

function withThousands(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
