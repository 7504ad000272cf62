import type { FigureUnit } from '../../record/figures.js';
import type { Threshold } from '../../record/threshold.js';
import { priceText } from '../../report/cost-text.js';
import { intervalText } from '../../report/statistics.js';
import { significant } from '../../text/numbers.js';
import { atLeast, type TargetFigure } from './judge.js';
import type { Tried } from './plan-result.js';

/**
 * `99.93 % ± 0.02`, or `98.61 % (93.22 to 100.00)` if the interval ends at a limit of the figure; for a latency
 * `never`, or `never with 1 of 3 seeds`, if it falls on requests not answered in time; without a figure, the reason.
 */
export function estimateText(target: Threshold, { estimate: figure, values, about }: TargetFigure): string {
  if (figure === null) {
    const never = values.filter((value) => value === Number.POSITIVE_INFINITY).length;
    if (never === 0) return about ?? '–';
    return never === values.length ? 'never' : `never with ${never} of ${values.length} seeds`;
  }
  const part = (value: number) => scaled(target, value);
  return intervalText(figure, { mean: (value) => figureText(target, value), half: part, end: part });
}

/** A figure of a target with four digits or one more than the limit has: `99.93 %`, `12.4 ms`, `480.2/s`, `7`. */
export function figureText(target: Threshold, value: number): string {
  return scaled(target, value) + SUFFIX[target.unit];
}

/** `its 95 % interval ends 0.02 pp above 99.9 %`; `0.02 pp above 99.9 %` without one; empty without a figure. */
export function marginText(target: Threshold, { margin, estimate }: TargetFigure): string {
  if (margin === null || estimate === null) return '';
  const limit = `${significant(target.limit * scaleOf(target.unit), 12)}${SUFFIX[target.unit]}`;
  const unit = target.unit === 'share' ? ' pp' : SUFFIX[target.unit];
  const above = atLeast(target) === margin >= 0;
  const size = scaled(target, Math.abs(margin));
  const distance =
    Number(size) === 0 ? `at ${limit}` : `${size}${unit} ${above ? 'above' : 'below'} ${limit}`;
  const { over, low, high } = estimate;
  return over === null || low === high ? distance : `its 95 % interval ends ${distance}`;
}

export function pricedName({ name, costPerHour }: Tried): string {
  return costPerHour === undefined ? name : `${name}, ${priceText(costPerHour)} per hour`;
}

const SUFFIX: Readonly<Record<FigureUnit, string>> = {
  share: ' %',
  ms: ' ms',
  perSecond: '/s',
  count: '',
  hours: ' h',
  price: '',
};

function scaled(target: Threshold, value: number): string {
  return (value * scaleOf(target.unit)).toFixed(decimalsOf(target));
}

function scaleOf(unit: FigureUnit): number {
  return unit === 'share' ? 100 : 1;
}

function decimalsOf({ limit, unit }: Threshold): number {
  const shown = significant(limit * scaleOf(unit), 12);
  const own = /\.(\d+)$/.exec(String(shown))?.[1]?.length ?? 0;
  const fourDigits = shown > 0 ? 3 - Math.floor(Math.log10(shown)) : 0;
  return Math.min(8, Math.max(own + 1, fourDigits, 0));
}
