import { figureOf } from '../../record/figures.js';
import { limitOf, refusalOf } from '../../record/threshold.js';
import {
  COMPARED,
  type ComparedFigure,
  type Comparison,
  differenceText,
  relativeText,
  valueText,
} from './compare.js';

/** Allowed difference of a figure from that of the first run, up or down. */
export interface Tolerance {
  /** The text as the user wrote it. */
  readonly text: string;
  /** One of `COMPARED`. */
  readonly figure: string;
  /** A share of the first run's value if `relative`, else in the unit of the figure. */
  readonly limit: number;
  readonly relative: boolean;
}

/** Result of one tolerance for one run. */
export interface ToleranceResult {
  readonly tolerance: string;
  readonly run: string;
  readonly ok: boolean;
  /** One line for people. */
  readonly text: string;
}

/** Groups: figure, number, unit. */
const PATTERN = /^\s*([A-Za-z]\w*)\s*=\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z%/]*)\s*$/;

/**
 * Parses a tolerance: a figure that thresholds know, `=`, and the allowed difference from the first run: a percentage
 * of that run's value (`p99=15%`) or a difference in the figure's own unit (`p99=2ms`, `goodputRps=5/s`, `timeout=10`,
 * `attainment=0.001`). Throws `E_USAGE`.
 */
export function parseTolerance(text: string): Tolerance {
  const refuse = refusalOf('tolerance', text);
  const parts = PATTERN.exec(text);
  if (parts === null)
    throw refuse('must be FIGURE=LIMIT with a figure of the whole run, e.g. p99=15% or p99=2ms');
  const [, figure, number, suffix] = parts as unknown as [string, string, string, string];
  if (!COMPARED.includes(figure))
    throw refuse(`unknown figure ${figure}; known figures: ${COMPARED.join(', ')}`);
  if (suffix === '%') return { text, figure, limit: Number(number) / 100, relative: true };
  const { limit } = limitOf(figureOf(figure)!.unit, Number(number), suffix, refuse);
  return { text, figure, limit, relative: false };
}

/** Checks every run but the first against each tolerance. A figure that either run did not measure meets none. */
export function checkTolerances(tolerances: readonly Tolerance[], comparison: Comparison): ToleranceResult[] {
  return tolerances.flatMap((tolerance) => {
    const { text, figure: name } = tolerance;
    const figure = comparison.figures.find((one) => one.name === name);
    const [first, ...others] = comparison.runs;
    return others.map((run, i) => {
      const missing = [first!, run].filter(
        (_, at) => (figure?.values[at === 0 ? 0 : i + 1] ?? null) === null,
      );
      const result = { tolerance: text, run: run.name };
      if (figure === undefined || missing.length > 0) {
        const where = missing.map((one) => one.name).join(' and ');
        return {
          ...result,
          ok: false,
          text: `${text}: not measured, ${where} ${missing.length > 1 ? 'have' : 'has'} no ${name}`,
        };
      }
      const ok = isWithin(tolerance, figure, i + 1);
      const change = relativeText(figure, i + 1) || differenceText(figure, i + 1);
      const values = `${valueText(figure, i + 1)} against ${valueText(figure, 0)} (${change})`;
      return {
        ...result,
        ok,
        text: `${text}: ${ok ? 'met' : 'not met'}, ${name} of ${run.name} is ${values}`,
      };
    });
  });
}

/** `never` agrees with `never` only. */
function isWithin({ limit, relative }: Tolerance, figure: ComparedFigure, i: number): boolean {
  const difference = figure.differences[i] ?? null;
  if (difference === null) return false;
  const first = figure.values[0] as number;
  return Math.abs(difference) <= (relative ? limit * Math.abs(first) : limit);
}
