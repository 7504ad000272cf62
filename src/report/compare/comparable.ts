import { formatSlo } from '../../text/numbers.js';
import type { NamedRun } from './named-run.js';

/**
 * Differences that make a run answer another question than the first, a line each: another experiment, seed, SLO or
 * length. Other overrides are not listed, since they are usually the point of the comparison.
 */
export function differencesThatMatter([first, ...others]: readonly NamedRun[]): string[] {
  return first === undefined ? [] : others.flatMap((other) => differencesOf(first, other));
}

/** Settings closer than this share of the larger are equal: a run's length follows its last arrival, to the ms. */
const NOISE = 0.001;

function differencesOf(first: NamedRun, other: NamedRun): string[] {
  const differs = (
    what: string,
    of: (named: NamedRun) => string | number,
    shown: (value: string | number) => string = String,
  ) =>
    isSame(of(first), of(other))
      ? []
      : [`${other.name}: ${what} is ${shown(of(other))}, that of ${first.name} is ${shown(of(first))}`];
  return [
    ...(first.run.experiment === other.run.experiment
      ? []
      : [`${other.name}: its experiment file differs from that of ${first.name}`]),
    ...differs('the seed', ({ run }) => String(run.summary.seed)),
    ...differs(
      'the SLO',
      ({ run }) => run.sloMs ?? 'mixed',
      (slo) => (typeof slo === 'number' ? formatSlo(slo) : slo),
    ),
    ...differs(
      'the duration',
      ({ run }) => run.summary.durationSeconds,
      (seconds) => `${seconds} s`,
    ),
  ];
}

function isSame(a: string | number, b: string | number): boolean {
  if (typeof a !== 'number' || typeof b !== 'number') return a === b;
  return Math.abs(a - b) <= NOISE * Math.max(Math.abs(a), Math.abs(b));
}
