import type { Profile } from '../src/config/profile.js';

/** A profile with invented figures, of a small, quick model, but for what `over` says. */
export function madeUpProfile(over: Partial<Profile> = {}): Profile {
  return {
    ...{ name: 'small', gpu: 'none', runtime: 'none', precision: 'FP32' },
    ...{ weightsBytes: 1_000_000, loadMs: 1, inputBytes: 8, outputBytes: 4 },
    batches: [1, 2, 4].map((batch) => ({ batch, medianMs: 1 + batch })),
    source: { weights: 'made up', load: 'made up', copies: 'made up', batches: 'made up' },
    ...over,
  };
}
