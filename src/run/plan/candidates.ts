import { type Lattice, type Over, written } from './over.js';

/** What a plan chooses from: each candidate is a few keys of the experiment with a value for each. */
export interface Candidates {
  readonly size: number;
  /** Names the candidate in results. */
  text(index: number): string;
  /** What it changes in the experiment. */
  settings(index: number): readonly { readonly key: string; readonly value: string }[];
  /** Those that say whether the experiment can run at all. */
  readonly ends: readonly number[];
  /** A key's range as it was given to `--over`. */
  written(key: string): string;
}

/** The values of one key. */
export function valuesOf(over: Over, lattice: Lattice): Candidates {
  return {
    size: lattice.size,
    text: (index) => lattice.text(index),
    settings: (index) => [{ key: over.key, value: lattice.text(index) }],
    ends: [0, lattice.size - 1],
    written: () => written(over),
  };
}
