import type { FigureUnit } from '../../record/figures.js';
import type { Threshold } from '../../record/threshold.js';
import { priceText } from '../../report/cost-text.js';
import { intervalText } from '../../report/statistics.js';
import { significant } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';
import { atLeast, type TargetFigure } from './judge.js';
import type { FleetPlan, Headroom, Plan, TriedFleet } from './plan-result.js';

/** Source of the intervals, `95 % interval over 3 seeds`; null if there are none. */
export function intervalsOf({ seeds, tried }: Pick<Plan, 'seeds' | 'tried'>): string | null {
  const over = new Set(tried.flatMap(({ figures }) => figures.map(({ estimate }) => estimate?.over)));
  const sources = [
    ...(over.has('seeds') ? [`over ${seeds.length} seeds`] : []),
    ...(over.has('slices') ? ['over the time slices of the run'] : []),
    ...(over.has('requests') ? ['by the number of requests where none missed'] : []),
  ];
  return sources.length === 0 ? null : `95 % interval ${sources.join(', or ')}`;
}

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

/** Confidence in the answer, since each fleet that ran is one more chance to meet a target by luck. */
export function confidenceLines({ confidence, answer, tried, seeds }: FleetPlan): string[] {
  if (confidence === null) return [];
  const { compared, isSure, sure } = confidence;
  if (isSure === null)
    return [`not known how sure: with each of the ${seeds.length} seeds a figure is the same`];
  const after = `after ${plural(compared, 'fleet')} that ran up to its price`;
  if (isSure) return [`sure: 95 % confidence in ${answer} ${after}`];
  const next = tried.find(({ value }) => value === sure);
  const other = next === undefined ? 'nor in any other: add seeds' : `but in ${pricedName(next)}`;
  return [`not sure: ${seeds.length} seeds give no 95 % confidence in ${answer} ${after}, ${other}`];
}

export function pricedName({ name, costPerHour }: TriedFleet): string {
  return `${name}, ${priceText(costPerHour)} per hour`;
}

/** `attainment>=99% holds up to 1.24 times the traffic, and no longer at 1.26 times`; `asked`: null for `the target`. */
export function headroomText(asked: readonly Threshold[] | null, { holds, misses, tried }: Headroom): string {
  const wanted = asked === null ? 'the target' : listed(asked.map(({ text }) => text));
  const verb = asked !== null && asked.length > 1 ? 'hold' : 'holds';
  if (holds === null)
    return `${wanted} ${verb} at none of the factors tried, down to ${misses} times the traffic`;
  const end =
    misses === null ? `, the most of ${tried.length} factors tried` : `, and no longer at ${misses} times`;
  return `${wanted} ${verb} up to ${holds} times the traffic${end}`;
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
