import type { FigureUnit } from '../metrics/figures.js';
import type { Threshold } from '../metrics/threshold.js';
import { keyLabel, valuesLabel } from '../report/quantity.js';
import type { Estimate } from '../report/statistics.js';
import { atLeast, type TargetFigure } from './judge.js';

/** How people write values of the planned key and figures of its targets. */

/** `62 GPUs`, `SLO 12.4 ms`. */
export function namedValue(key: string, value: string): string {
  if (key !== 'cluster.gpus') return valuesLabel({ [key]: value });
  return value === '1' ? '1 GPU' : `${value} GPUs`;
}

/** `fewest GPUs`, `tightest SLO`. */
export function goalLabel(key: string, superlative: string): string {
  return `${superlative} ${keyLabel(key)}`;
}

/** `99.93 % ± 0.02`; `–` where there was nothing to measure. */
export function estimateText(target: Threshold, figure: Estimate | null): string {
  if (figure === null) return '–';
  const half = Math.max(figure.high - figure.mean, figure.mean - figure.low);
  const plus = figure.n < 2 ? '' : ` ± ${scaled(target, half)}`;
  return `${figureText(target, figure.mean)}${plus}`;
}

/** A figure of a target with four digits or one more than the limit has: `99.93 %`, `12.4 ms`, `480.2/s`, `7`. */
export function figureText(target: Threshold, value: number): string {
  return scaled(target, value) + SUFFIX[target.unit];
}

/** `at worst 0.02 pp above 99.9 %`: how far the interval's deciding end is within the limit, or beyond it. */
export function marginText(target: Threshold, { margin, estimate }: TargetFigure): string {
  const limit = `${Number((target.limit * scaleOf(target.unit)).toPrecision(12))}${SUFFIX[target.unit]}`;
  if (margin === null || estimate === null) return `nothing to hold against ${limit}`;
  const unit = target.unit === 'share' ? ' pp' : SUFFIX[target.unit];
  const above = atLeast(target) === margin >= 0;
  const size = scaled(target, Math.abs(margin));
  const distance =
    Number(size) === 0 ? `just at ${limit}` : `${size}${unit} ${above ? 'above' : 'below'} ${limit}`;
  return estimate.n < 2 ? distance : `at worst ${distance}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

const SUFFIX: Readonly<Record<FigureUnit, string>> = { share: ' %', ms: ' ms', perSecond: '/s', count: '' };

function scaled(target: Threshold, value: number): string {
  return (value * scaleOf(target.unit)).toFixed(decimalsOf(target));
}

function scaleOf(unit: FigureUnit): number {
  return unit === 'share' ? 100 : 1;
}

function decimalsOf({ limit, unit }: Threshold): number {
  const shown = Number((limit * scaleOf(unit)).toPrecision(12));
  const own = /\.(\d+)$/.exec(String(shown))?.[1]?.length ?? 0;
  const fourDigits = shown > 0 ? 3 - Math.floor(Math.log10(shown)) : 0;
  return Math.min(8, Math.max(own + 1, fourDigits, 0));
}
