import fc from 'fast-check';
import type { GpuKind } from '../../src/core/cluster-spec.js';
import type { ModelSpec } from '../../src/core/model.js';
import { AUTO, type PolicyOptions } from '../../src/policies/entry.js';
import { ListSource, MS, poisson, type RunOptions } from './fixtures.js';

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

const anyOf = fc.constantFrom;
const SIZES = anyOf(1, 3, 8);
const MARGIN = anyOf(0, 2 * MS);

/** Options of each policy, drawn apart; how often it is drawn. */
const POLICIES: readonly (readonly [
  policy: string,
  options: fc.Arbitrary<PolicyOptions>,
  weight?: number,
])[] = [
  [
    'clockwork',
    fc
      .record({
        ahead: fc.oneof(fc.integer({ min: 0, max: 30 * MS }), anyOf(1 * MS, 5 * MS, 10 * MS)),
        delta: fc.option(fc.nat(20 * MS)),
        maxBatch: anyOf(1, 3, 4, 8),
        maxExec: anyOf(1, 5 * MS, 250 * MS),
      })
      .map(({ ahead, delta, ...rest }) => ({ scheduleAhead: ahead, latestDelta: delta ?? ahead, ...rest })),
    2,
  ],
  ['clockwork', fc.record({ scheduleAhead: fc.constant(AUTO), maxBatch: SIZES })],
  [
    'escapement',
    fc.record({
      scheduleAhead: anyOf<number | 'auto'>(AUTO, AUTO, 0, 1 * MS, 20 * MS),
      fairness: anyOf(0, 0.55, 1),
      maxBatch: SIZES,
    }),
    2,
  ],
  ['clipper', fc.record({ maxBatch: SIZES, increase: anyOf(1, 2), maxDelay: anyOf(0, 3 * MS) })],
  ['edf', fc.record({ maxBatch: SIZES, margin: MARGIN })],
  ['edgeserving', fc.record({ maxBatch: SIZES })],
  ['nexus', fc.record({ maxBatch: SIZES, epoch: anyOf(20 * MS, 1000 * MS) })],
  ['fifo', fc.record({ maxBatch: anyOf(1, 3, 4, 8), maxDelay: fc.nat(10 * MS) })],
  [
    'alpaserve-sr',
    fc.record({ maxBatch: SIZES, window: anyOf(20 * MS, 100 * MS, 1000 * MS), margin: MARGIN }),
  ],
  ['symphony', fc.record({ maxBatch: SIZES, margin: MARGIN })],
  [
    'shepherd',
    fc.record({
      ...{
        maxBatch: SIZES,
        preemption: anyOf(1, 2, 3.03),
        period: anyOf(20 * MS, 1000 * MS),
        margin: MARGIN,
      },
    }),
  ],
];

const policy = fc.oneof(
  ...POLICIES.map(([policy, options, weight = 1]) => ({
    weight,
    arbitrary: fc.record({ policy: fc.constant(policy), options }),
  })),
);

/**
 * A small run: up to 9 models on a few GPUs, with room for few of them, half a second of Poisson traffic up
 * to well beyond what the GPUs can do. `source` is made again by `options`.
 */
export const randomRun = fc
  .record({
    models: fc.array(randomModel, { minLength: 1, maxLength: 9 }),
    /** Times of each model on GPUs of another kind, relative to those on the first; the memory of those GPUs. */
    otherKinds: fc.option(
      fc.array(
        fc.record({
          share: fc.constantFrom(0.2, 0.5, 0.8),
          slowness: fc.array(fc.constantFrom(0.4, 1, 1.7, 3, 9), { minLength: 9, maxLength: 9 }),
          pages: fc.integer({ min: 1, max: 14 }),
        }),
        { minLength: 1, maxLength: 2 },
      ),
      { nil: [] },
    ),
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
    policy,
  })
  .map((drawn) => withKinds(drawn))
  .map((drawn) => ({ ...drawn, toString: () => JSON.stringify(drawn) }));

interface OtherKind {
  readonly share: number;
  readonly slowness: readonly number[];
  readonly pages: number;
}

/** Gives some of the GPUs to the other kinds, the first of which remains the first. */
function withKinds<
  T extends { gpus: number; pages: number; models: ModelSpec[]; otherKinds: readonly OtherKind[] },
>({ otherKinds, ...drawn }: T) {
  const kinds: GpuKind[] = [];
  let left = drawn.gpus;
  for (const { share, pages } of otherKinds) {
    const gpus = Math.floor(left * share);
    if (gpus === 0) continue;
    kinds.push({ gpus, pages });
    left -= gpus;
  }
  kinds.unshift({ gpus: left, pages: drawn.pages });
  if (kinds.length === 1) return { ...drawn, kinds };
  const models = drawn.models.map((model, m) => ({
    ...model,
    otherKinds: kinds.slice(1).map((_, k) => {
      const scaled = (ns: number) => Math.ceil(ns * otherKinds[k].slowness[m]);
      return { loadNs: scaled(model.loadNs), execNs: model.execNs.map(scaled) };
    }),
  }));
  return { ...drawn, models, kinds };
}

export type RandomRun = typeof randomRun extends fc.Arbitrary<infer T> ? T : never;

export function optionsOf({ policy: chosen, faults: departures, ...drawn }: RandomRun): RunOptions {
  const { models, gpus, pages, kinds, slosNs, rateRps, durationNs, seed } = drawn;
  return {
    ...chosen,
    ...departures,
    models,
    gpus,
    pages,
    ...(kinds.length === 1 ? {} : { kinds }),
    seed,
    defaultSloNs: slosNs[0],
    source: new ListSource(poisson({ seed, rateRps, durationNs, models: models.length, slosNs })),
  } as RunOptions;
}
