import { EscapementError } from '../../base/errors.js';
import type { CellResult, FailedCell, SweepResults, VariedKey } from '../../record/results.js';
import { plural } from '../../text/words.js';

/** A sweep with the name of its folder. */
export interface NamedSweep {
  readonly name: string;
  readonly results: SweepResults;
}

/** One finished run. */
export interface PolicyRun {
  /** Kind of the policy, as recorded by the run. */
  readonly kind: string;
  /** Values of the varied options of policies, by key (`policy.scheduleAhead`); empty if its sweep varied none. */
  readonly options: Readonly<Record<string, string>>;
  /** Values of the other varied keys: the conditions of every policy. */
  readonly place: Readonly<Record<string, string>>;
  readonly seed: number;
  readonly result: CellResult;
}

/** Runs of all sweeps, as if one sweep had made them. */
export interface MergedSweeps {
  /** Varied keys that are not options of a policy, with their values in order of appearance. */
  readonly conditions: readonly VariedKey[];
  readonly runs: readonly PolicyRun[];
  readonly failed: readonly FailedCell[];
  /** Reasons why the sweeps answer different questions, a line each. */
  readonly warnings: readonly string[];
}

const POLICY = 'policy.';

/**
 * Merges sweeps that vary the same conditions (keys outside of `policy`), e.g. with further policies. If several hold
 * the same run, the last one counts. Throws `E_RESULTS` if their conditions differ.
 */
export function mergeSweeps(sweeps: readonly NamedSweep[]): MergedSweeps {
  const [first, ...others] = sweeps;
  const keys = conditionKeys(first!.results);
  for (const other of others) {
    const own = conditionKeys(other.results);
    if (keys.length === own.length && keys.every((key) => own.includes(key))) continue;
    const [here, there] = [own, keys].map((list) => list.join(', ') || 'nothing');
    throw new EscapementError(
      'E_RESULTS',
      `varies ${here} in addition to the policy, ${first!.name} varies ${there}; compare sweeps that vary the same keys`,
      { file: other.name },
    );
  }
  const runs = new Map<string, { readonly run: PolicyRun; readonly sweep: string }>();
  const replaced = new Map<string, number>();
  for (const { name, results } of sweeps) {
    for (const run of runsOf(results)) {
      const id = identity(run, keys);
      const before = runs.get(id);
      if (before !== undefined && before.run.result.summary.digest !== run.result.summary.digest) {
        const what = `${name}: replaces runs of ${before.sweep} that made other decisions`;
        replaced.set(what, (replaced.get(what) ?? 0) + 1);
      }
      runs.set(id, { run, sweep: name });
    }
  }
  return {
    conditions: keys.map((key) => ({ key, values: valuesOf(sweeps, key) })),
    runs: [...runs.values()].map(({ run }) => run),
    failed: sweeps.flatMap(({ results }) =>
      results.cells.filter((cell): cell is FailedCell => cell.status === 'failed'),
    ),
    warnings: [
      ...differences(sweeps),
      ...[...replaced].map(([what, count]) => `${what} (${plural(count, 'run')})`),
    ],
  };
}

function conditionKeys({ vary }: SweepResults): string[] {
  return vary.map(({ key }) => key).filter((key) => !key.startsWith(POLICY));
}

function runsOf({ cells }: SweepResults): PolicyRun[] {
  return cells.flatMap((cell) => {
    if (cell.status !== 'done') return [];
    const entries = Object.entries(cell.values);
    const isOption = ([key]: readonly [string, string]) => key.startsWith(POLICY);
    return [
      {
        kind: cell.result.summary.policy,
        options: Object.fromEntries(entries.filter((entry) => isOption(entry) && entry[0] !== 'policy.kind')),
        place: Object.fromEntries(entries.filter((entry) => !isOption(entry))),
        seed: cell.seed,
        result: cell.result,
      },
    ];
  });
}

function identity({ kind, options, place, seed }: PolicyRun, keys: readonly string[]): string {
  const chosen = Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([kind, chosen, keys.map((key) => place[key]), seed]);
}

function valuesOf(sweeps: readonly NamedSweep[], wanted: string): string[] {
  const all = sweeps.flatMap(({ results }) => results.vary.find(({ key }) => key === wanted)?.values ?? []);
  return [...new Set(all)];
}

function differences([first, ...others]: readonly NamedSweep[]): string[] {
  // Options of policies are the point of the comparison.
  const given = ({ results }: NamedSweep) =>
    (results.overrides ?? []).filter((override) => !override.startsWith('policy')).join(' ');
  return others.flatMap((other) => [
    ...(other.results.experiment === first!.results.experiment
      ? []
      : [`${other.name}: its experiment file differs from that of ${first!.name}`]),
    ...(given(other) === given(first!)
      ? []
      : [
          `${other.name}: its overrides are ${given(other) || 'none'}, those of ${first!.name} are ${given(first!) || 'none'}`,
        ]),
  ]);
}
