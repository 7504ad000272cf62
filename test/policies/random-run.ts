import fc from 'fast-check';
import type { ModelSpec } from '../../src/core/model.js';
import { ListSource, MS, poisson, type RunOptions } from '../sim/fixtures.js';

export const randomModel: fc.Arbitrary<ModelSpec> = fc
  .record({
    pages: fc.integer({ min: 1, max: 4 }),
    loadNs: fc.integer({ min: MS / 10, max: 20 * MS }),
    firstNs: fc.integer({ min: 1, max: 6 * MS }),
    growth: fc.integer({ min: 5, max: 10 }),
    sizes: fc.constantFrom([1], [1, 2], [1, 2, 4], [1, 2, 4, 8], [1, 3, 6]),
  })
  .map(({ pages, loadNs, firstNs, growth, sizes }) => ({
    name: 'random',
    weightsBytes: pages * 1000,
    pages,
    loadNs,
    batchSizes: sizes,
    execNs: sizes.map((size) => Math.round(firstNs * (1 + ((size - 1) * growth) / 10))),
    inputBytes: 600_000,
    outputBytes: 4000,
  }));

const slo = fc.oneof(fc.integer({ min: 1, max: 120 * MS }), fc.constantFrom(10 * MS, 25 * MS, 100 * MS));

const noise = fc.record({
  exec: fc.constantFrom(0, 0.01, 0.3),
  load: fc.constantFrom(0, 0.1),
  stragglers: fc.constantFrom(0, 0.05),
  stragglerFactor: fc.constant(8),
});

const network = fc.record({
  // No delay, or one that a network could have: GPUs that refuse LOADs are asked once every round trip.
  delayNs: fc.oneof(fc.constant(0), fc.integer({ min: 50_000, max: 2 * MS })),
  jitterNs: fc.constantFrom(0, 100_000, 3 * MS),
});

/** The ways in which a simulated cluster departs from the ideal. */
const faults = fc.record(
  {
    noise,
    network,
    changes: fc.array(fc.record({ atNs: fc.nat(300 * MS), noise, network }), { minLength: 1, maxLength: 3 }),
    clockOffsetNs: fc.nat(3 * MS),
    copyBytesPerS: fc.constantFrom(1e9, 12e9),
    overheadNs: fc.constantFrom(0, 60_000),
    abortNs: fc.constantFrom(0, 1 * MS, 5 * MS),
    gpuClock: fc.array(
      fc.record({
        atNs: fc.nat(300 * MS),
        gpu: fc.constantFrom(-1, 0),
        factor: fc.constantFrom(0.5, 0.8, 1, 1.1),
      }),
      { maxLength: 4 },
    ),
  },
  { requiredKeys: [] },
);

const options = fc
  .record({
    ahead: fc.oneof(fc.integer({ min: 0, max: 30 * MS }), fc.constantFrom(1 * MS, 5 * MS, 10 * MS)),
    delta: fc.option(fc.nat(20 * MS)),
    maxBatch: fc.constantFrom(1, 3, 4, 8),
    maxExec: fc.constantFrom(1, 5 * MS, 250 * MS),
  })
  .map(({ ahead, delta, ...rest }) => ({ scheduleAhead: ahead, latestDelta: delta ?? ahead, ...rest }));

/**
 * A small run of clockwork: up to 9 models on a few GPUs, with room for few of them, half a second of Poisson traffic up
 * to well beyond what the GPUs can do. `source` is made again by `optionsOf`.
 */
export const randomRun = fc
  .record({
    models: fc.array(randomModel, { minLength: 1, maxLength: 9 }),
    // Rarely more than a word of bits holds.
    gpus: fc.oneof(
      { weight: 15, arbitrary: fc.integer({ min: 1, max: 4 }) },
      { weight: 1, arbitrary: fc.integer({ min: 31, max: 40 }) },
    ),
    pages: fc.integer({ min: 4, max: 14 }),
    slosNs: fc.array(slo, { minLength: 1, maxLength: 3 }),
    rateRps: fc.constantFrom(50, 300, 1000, 3000),
    durationNs: fc.constantFrom(100 * MS, 400 * MS),
    seed: fc.nat(1000),
    faults: fc.oneof(fc.constant({}), faults),
    options,
  })
  .map((drawn) => ({ ...drawn, toString: () => JSON.stringify(drawn) }));

export type RandomRun = typeof randomRun extends fc.Arbitrary<infer T> ? T : never;

export function optionsOf({
  faults: departures,
  slosNs,
  rateRps,
  durationNs,
  ...drawn
}: RandomRun): RunOptions {
  const { models, gpus, pages, seed, options } = drawn;
  return {
    ...{ policy: 'clockwork', options, models, gpus, pages, seed, defaultSloNs: slosNs[0] },
    ...departures,
    source: new ListSource(poisson({ seed, rateRps, durationNs, models: models.length, slosNs })),
  } as RunOptions;
}
