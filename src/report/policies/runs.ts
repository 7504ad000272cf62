import type { CellResult, SweepResults, VariedKey } from '../../record/results.js';

/** A sweep with the name of its folder. */
export interface NamedSweep {
  readonly name: string;
  readonly results: SweepResults;
}

/** One finished run. */
export interface PolicyRun {
  /** Kind of the policy, as recorded by the run. */
  readonly kind: string;
  /** Values of the varied options of policies, by key (`policy.scheduleAhead`); empty if the sweep varied none. */
  readonly options: Readonly<Record<string, string>>;
  /** Values of the other varied keys: the conditions of every policy. */
  readonly place: Readonly<Record<string, string>>;
  readonly seed: number;
  readonly result: CellResult;
}

const POLICY = 'policy.';

/** Varied keys that are not options of a policy. */
export function conditionsOf({ vary }: SweepResults): VariedKey[] {
  return vary.filter(({ key }) => !key.startsWith(POLICY));
}

/** Finished runs of a sweep. */
export function runsOf({ cells }: SweepResults): PolicyRun[] {
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
