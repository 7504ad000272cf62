import type { CellResult, SweepResults, VariedKey } from '../../record/results.js';
import { groupBy } from '../lists.js';
import { keyLabel, parseQuantity, valueLabel } from '../quantity.js';

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

/** One policy of a comparison: a kind, or one of several settings of its options. */
export interface Series {
  /** `clockwork`, `clockwork (auto)`, `clockwork (best fixed)`. */
  readonly name: string;
  readonly kind: string;
  /** Keys of options for which each cell takes the best value, with hindsight: not achievable in deployment. */
  readonly tuned: readonly string[];
  readonly runs: readonly PolicyRun[];
}

/** The policy of this project. */
const OURS = 'escapement';

/** Text for an option that the sweep of a run did not vary. */
const AS_WRITTEN = 'as written';

/**
 * The policies of a comparison. An option of a policy that was varied, and without which its runs would have
 * decided otherwise, is one of these:
 *
 * - **Numbers and durations are tuned**: they make one series, `KIND (best fixed)` where the option also has words
 *   and else `KIND (best OPTION)`, that takes in each cell the value with the highest mean.
 * - **Words are settings**: `auto`, or `on` and `off`, make a series each, `KIND (auto)`.
 *
 * Our own policy comes first, the others in the order in which their runs appear.
 */
export function seriesOf(runs: readonly PolicyRun[]): Series[] {
  const kinds = [...new Set(runs.map(({ kind }) => kind))];
  const ours = kinds.filter((kind) => kind === OURS);
  return [...ours, ...kinds.filter((kind) => kind !== OURS)].flatMap((kind) =>
    seriesOfKind(
      kind,
      runs.filter((run) => run.kind === kind),
    ),
  );
}

interface Option {
  readonly key: string;
  readonly words: readonly string[];
  readonly numbers: readonly string[];
}

function seriesOfKind(kind: string, all: readonly PolicyRun[]): Series[] {
  const keys = keysThatMatter(all);
  const runs = onceEach(all, keys);
  const options = keys.map((key): Option => {
    const values = [...new Set(runs.map((run) => settingOf(run, key)))];
    const isNumber = (value: string) => parseQuantity(value) !== null;
    return {
      key,
      words: values.filter((value) => !isNumber(value)),
      numbers: values.filter(isNumber),
    };
  });
  const series = groupBy(runs, (run) => {
    const parts = options.map((option) => part(option, settingOf(run, option.key)));
    return parts.length === 0 ? kind : `${kind} (${parts.join(', ')})`;
  });
  return [...series].map(([name, members]) => ({
    name,
    kind,
    tuned: options
      .map(({ key }) => key)
      .filter((key) => new Set(members.map((run) => settingOf(run, key))).size > 1),
    runs: members,
  }));
}

/** Keys of options that are the only difference between some of these runs, and changed their decisions. */
function keysThatMatter(runs: readonly PolicyRun[]): string[] {
  const keys = [...new Set(runs.flatMap(({ options }) => Object.keys(options)))];
  return keys.filter((key) => {
    const digests = new Map<string, string>();
    return runs.some(({ options, place, seed, result: { summary } }) => {
      const { [key]: _, ...others } = options;
      const id = JSON.stringify([others, place, seed]);
      const before = digests.get(id);
      digests.set(id, summary.digest);
      return before !== undefined && before !== summary.digest;
    });
  });
}

/** Merges runs that differ only in options without effect. */
function onceEach(runs: readonly PolicyRun[], keys: readonly string[]): PolicyRun[] {
  const same = groupBy(runs, (run) =>
    JSON.stringify([keys.map((key) => settingOf(run, key)), run.place, run.seed]),
  );
  return [...same.values()].map(([first]) => first!);
}

function part({ key, words, numbers }: Option, value: string): string {
  if (words.includes(value) || numbers.length === 1) return valueLabel(value);
  return words.length > 0 ? 'best fixed' : `best ${keyLabel(key)}`;
}

function settingOf({ options }: PolicyRun, key: string): string {
  return options[key] ?? AS_WRITTEN;
}
