import { EscapementError } from '../core/errors.js';
import type { FigureUnit } from '../metrics/figures.js';
import type { CellResult } from '../metrics/results.js';
import { checkThreshold, holds, parseThreshold, type Threshold } from '../metrics/threshold.js';
import { type Estimate, estimate } from '../report/statistics.js';

/** A target's figure at one value of the planned key, over all seeds. */
export interface TargetFigure {
  /** One of each seed, in the target's unit; null: there was nothing to measure. */
  readonly values: readonly (number | null)[];
  /** null where a seed had nothing to measure. */
  readonly estimate: Estimate | null;
  /**
   * `yes`: the whole 95 % confidence interval of the mean is within the limit. `unsure`: the mean is, its interval
   * is not: more seeds may decide.
   */
  readonly meets: Verdict;
  /**
   * How far that end of the interval which decides is within the limit, in the target's unit; negative beyond it,
   * null without an estimate.
   */
  readonly margin: number | null;
}

export type Verdict = 'yes' | 'unsure' | 'no';

/** Reads a `--target`, which is a threshold on the mean over the seeds. Throws `E_USAGE`. */
export function parseTarget(text: string): Threshold {
  try {
    return parseThreshold(text);
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    throw new EscapementError(error.code, error.message.replace('--threshold', '--target'));
  }
}

/** Holds the repetitions of one value against a target. */
export function judge(target: Threshold, results: readonly Pick<CellResult, 'summary'>[]): TargetFigure {
  const values = results.map(({ summary }) => checkThreshold(target, summary).actual);
  if (values.some((value) => value === null)) return { values, estimate: null, meets: 'no', margin: null };
  const figure = withinShare(estimate(values as number[]), target.unit);
  const bound = decidingEnd(target, figure);
  const meets = holds(target, bound) ? 'yes' : holds(target, figure.mean) ? 'unsure' : 'no';
  const margin = atLeast(target) ? bound - target.limit : target.limit - bound;
  return { values, estimate: figure, meets, margin };
}

/** Whether more is better. */
export function atLeast({ operator }: Pick<Threshold, 'operator'>): boolean {
  return operator === '>' || operator === '>=';
}

function decidingEnd(target: Threshold, { low, high }: Estimate): number {
  return atLeast(target) ? low : high;
}

/** An interval around a share near 0 or 1 ends there; that never changes a verdict. */
function withinShare(figure: Estimate, unit: FigureUnit): Estimate {
  const top = unit === 'share' ? Math.max(1, figure.mean) : Number.POSITIVE_INFINITY;
  return { ...figure, low: Math.max(0, figure.low), high: Math.min(top, figure.high) };
}
