import type { FigureUnit } from '../../record/figures.js';
import type { Threshold } from '../../record/threshold.js';
import { keyLabel, valuesLabel } from '../../report/quantity.js';
import { intervalText, ONE_SAMPLE } from '../../report/statistics.js';
import { significant } from '../../text/numbers.js';
import { atLeast, type TargetFigure } from './judge.js';
import type { PlanResult, Tried } from './plan-result.js';

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

/**
 * `99.93 % ± 0.02`, or `98.61 % (93.22 to 100.00)` where the interval ends at what is possible; of a latency `never`, or
 * `never with 1 of 3 seeds`, where it falls on requests that were not answered in time; where there is no figure, why.
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

/** `at worst 0.02 pp above 99.9 %`: how far the interval's deciding end is within the limit, or beyond it. */
export function marginText(target: Threshold, { margin, estimate }: TargetFigure): string {
  const limit = `${significant(target.limit * scaleOf(target.unit), 12)}${SUFFIX[target.unit]}`;
  if (margin === null || estimate === null) return `not ${atLeast(target) ? 'above' : 'below'} ${limit}`;
  const unit = target.unit === 'share' ? ' pp' : SUFFIX[target.unit];
  const above = atLeast(target) === margin >= 0;
  const size = scaled(target, Math.abs(margin));
  const distance =
    Number(size) === 0 ? `just at ${limit}` : `${size}${unit} ${above ? 'above' : 'below'} ${limit}`;
  return estimate.over === null ? distance : `at worst ${distance}`;
}

/** Whether the values ran once each, as no seed changes a run. */
export function isOneSample(tried: readonly Pick<Tried, 'isOneSample' | 'refused'>[]): boolean {
  const ran = tried.filter(({ refused }) => refused === undefined);
  return ran.length > 0 && ran.every((one) => one.isOneSample);
}

/** What is behind the intervals, for charts; nothing where there are none. */
export function confidenceTexts({ seeds, tried }: Pick<PlanResult, 'seeds'> & Runs): string[] {
  if (isOneSample(tried)) return [`bars: 95 % confidence, ${ONE_SAMPLE}`];
  return seeds.length > 1 ? [`bars: 95 % confidence over ${seeds.length} seeds`] : [];
}

/** How many runs it took. */
export function runCount({ seeds, tried }: Pick<PlanResult, 'seeds'> & Runs): number {
  return tried.reduce((sum, one) => sum + (one.isOneSample ? 1 : seeds.length), 0);
}

/** The seeds as a fact of a page. `same`: where else they are the same. */
export function seedsFact({ seeds, tried }: Pick<PlanResult, 'seeds'> & Runs, same: string) {
  if (isOneSample(tried)) return { label: 'Seeds', value: 'none', note: ONE_SAMPLE };
  return {
    label: seeds.length === 1 ? 'Seed' : 'Seeds',
    value: seeds.join(', '),
    note: seeds.length === 1 ? 'one repetition: no confidence interval' : same,
  };
}

interface Runs {
  readonly tried: readonly Tried[];
}

/** A share of the requests of which some failed: never `0 %` or `100 %`. */
export function failedShare(attainment: number): string {
  return `${significant(100 * (1 - attainment), 2)} %`;
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
