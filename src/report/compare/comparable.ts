import { formatSlo } from '../../text/numbers.js';
import type { NamedRun } from './named-run.js';

/**
 * What makes each run answer another question than the first one does, a line each: another experiment, seed,
 * SLO or length. Other overrides are no such thing: what they change is usually the point.
 */
export function differencesThatMatter([first, ...others]: readonly NamedRun[]): string[] {
  return first === undefined ? [] : others.flatMap((other) => differencesOf(first, other));
}

function differencesOf(first: NamedRun, other: NamedRun): string[] {
  const differs = (what: string, of: (named: NamedRun) => string) =>
    of(first) === of(other)
      ? []
      : [`${other.name}: ${what} is ${of(other)}, that of ${first.name} is ${of(first)}`];
  return [
    ...(first.run.experiment === other.run.experiment
      ? []
      : [`${other.name}: its experiment file differs from that of ${first.name}`]),
    ...differs('the seed', ({ run }) => String(run.summary.seed)),
    ...differs('the SLO', ({ run }) => (run.sloMs === null ? 'mixed' : formatSlo(run.sloMs))),
    ...differs('the duration', ({ run }) => `${run.summary.durationSeconds} s`),
  ];
}
