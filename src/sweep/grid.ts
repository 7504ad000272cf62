import type { VariedKey } from '../metrics/results.js';

/** One run of a sweep: a value for each varied key, and a seed. */
export interface GridCell {
  /** Stable name: `key=value` pairs and the seed. */
  readonly id: string;
  readonly values: Readonly<Record<string, string>>;
  readonly seed: number;
}

/** Every combination of values × seeds: the first key varies slowest, seeds fastest. */
export function buildGrid(vary: readonly VariedKey[], seeds: readonly number[]): GridCell[] {
  let combinations: Readonly<Record<string, string>>[] = [{}];
  for (const { key, values } of vary) {
    combinations = combinations.flatMap((left) => values.map((value) => ({ ...left, [key]: value })));
  }
  return combinations.flatMap((values) => seeds.map((seed) => ({ id: cellId(values, seed), values, seed })));
}

/** Overrides, in the form of `--set`, that turn the experiment file into this cell. */
export function cellOverrides(cell: GridCell): string[] {
  return [...Object.entries(cell.values).map(([key, value]) => `${key}=${value}`), `seed=${cell.seed}`];
}

function cellId(values: Readonly<Record<string, string>>, seed: number): string {
  return [...Object.entries(values).map(([key, value]) => `${key}=${value}`), `seed=${seed}`].join(' ');
}
