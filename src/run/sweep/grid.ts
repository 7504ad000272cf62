import { isKindKey } from '../../config/overrides.js';
import { type CaseAxis, chosenCases } from '../../config/sweep-section.js';
import type { VariedKey } from '../../record/results.js';

/** One run of a sweep: a value for each varied key, and a seed. */
export interface GridCell {
  /** Stable name: `key=value` pairs and the seed. */
  readonly id: string;
  readonly values: Readonly<Record<string, string>>;
  readonly seed: number;
  /** True if the same combination also runs with an earlier seed. */
  readonly repeats: boolean;
}

/** Every combination of values × seeds: the first key varies slowest, seeds fastest. */
export function buildGrid(vary: readonly VariedKey[], seeds: readonly number[]): GridCell[] {
  let combinations: Readonly<Record<string, string>>[] = [{}];
  for (const { key, values } of vary) {
    combinations = combinations.flatMap((left) => values.map((value) => ({ ...left, [key]: value })));
  }
  return combinations.flatMap((values) =>
    seeds.map((seed, i) => ({ id: cellId(values, seed), values, seed, repeats: i > 0 })),
  );
}

/** Settings of every cell of a sweep, besides its own values. */
export interface CellBase {
  /** Axes of named cases: a cell's value names a set of overrides. */
  readonly cases: readonly CaseAxis[];
  /** `--set` overrides, which win over cases. */
  readonly overrides: readonly string[];
}

/**
 * Overrides, in the form of `--set`, that turn the experiment file into this cell. Kinds of policies and workloads come
 * after the other keys, so that they drop keys that they do not have, varied ones too. One repetition is enough to draw
 * a timeline; those of all would be most of a sweep's results.
 */
export function cellOverrides(
  { values, seed, repeats }: GridCell,
  { cases, overrides }: CellBase = { cases: [], overrides: [] },
): string[] {
  const varied = Object.entries(values).filter(([key]) => !cases.some((axis) => axis.key === key));
  const isKind = ([key]: readonly [string, string]) => isKindKey(key);
  const ordered = [...varied.filter((entry) => !isKind(entry)), ...varied.filter(isKind)];
  return [
    ...chosenCases(cases, values).flatMap((one) => one.overrides),
    ...overrides,
    ...ordered.map(([key, value]) => `${key}=${value}`),
    `seed=${seed}`,
    ...(repeats ? ['output.timeline=false'] : []),
  ];
}

/** `key=value` pairs and the seed. */
export function cellId(values: Readonly<Record<string, string>>, seed: number): string {
  return [...Object.entries(values).map(([key, value]) => `${key}=${value}`), `seed=${seed}`].join(' ');
}
