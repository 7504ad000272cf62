import type { ArrivalSource } from '../../src/core/arrivals.js';
import type { ModelSpec } from '../../src/core/model.js';
import { AUTO, type PolicyOptions } from '../../src/policies/entry.js';
import { frameOf } from '../../src/workload/frame.js';
import { ClosedLoopSource } from '../../src/workload/generators/closed-loop.js';
import { ListSource, MS, poisson, type RunOptions, resnets } from './fixtures.js';

/** The common part: 15 ResNet-50 on one GPU with room for all, 600 requests/s for half a second. */
const BASE = { models: resnets(15), gpus: 1, pages: 1376, defaultSloNs: 100 * MS, seed: 1 } as const;

/** Models of three sizes, on other GPUs some of them three times as slow and some a little faster. */
const UNLIKE: readonly ModelSpec[] = BASE.models.map((model, i) => {
  const scaled = (times: number) => model.execNs.map((ns) => Math.round(ns * times));
  const [times, pages, onOther] = [
    [1, 7, 3],
    [2.5, 12, 0.9],
    [0.4, 3, 1.5],
  ][i % 3] as [number, number, number];
  const loadNs = Math.round((model.loadNs * pages) / model.pages);
  const otherKinds = [{ loadNs: 2 * loadNs, execNs: scaled(times * onOther) }];
  return { ...model, pages, loadNs, execNs: scaled(times), otherKinds };
});

/** Models whose inputs have three lengths. */
const TEXTS: readonly ModelSpec[] = BASE.models.map((model) => ({
  ...{ ...model, lengths: [16, 64, 256] },
  execNsByLength: [0.3, 0.5, 1].map((times) => model.execNs.map((ns) => Math.round(ns * times))),
}));

/** Requests that differ in length and, where there are such, in class and tenant. */
class VariedSource extends ListSource {
  constructor(
    rateRps: number,
    private readonly hasSenders = false,
  ) {
    super(poisson({ seed: 1, rateRps, durationNs: 500 * MS, models: 15, slosNs: [100 * MS, 40 * MS] }));
  }

  get length(): number {
    return 1 + ((this.user * 67) % 256);
  }

  get requestClass(): number {
    return Number(this.hasSenders && this.user % 3 === 0);
  }

  get tenant(): number {
    return Number(this.hasSenders && this.user % 5 < 2);
  }
}

function traffic(rateRps = 600, slosNs: readonly number[] = [100 * MS], models = 15): ListSource {
  return new ListSource(poisson({ seed: 1, rateRps, durationNs: 500 * MS, models, slosNs }));
}

type GoldenRun = () => Promise<Omit<RunOptions, 'policy'>>;

/** Worlds that every policy runs in. */
const WORLDS: Readonly<Record<string, GoldenRun>> = {
  plain: async () => ({ ...BASE, source: traffic() }),
  overload: async () => ({ ...BASE, source: traffic(2500) }),
  'mixed-slos': async () => ({ ...BASE, source: traffic(800, [10 * MS, 25 * MS, 500 * MS, 7 * MS]) }),
  'memory-pressure': async () => ({ ...BASE, pages: 40, source: traffic() }),
  'three-gpus': async () => ({ ...BASE, gpus: 3, pages: 70, source: traffic(1800) }),
  'forty-gpus': async () => ({
    ...BASE,
    gpus: 40,
    models: resnets(60),
    pages: 21,
    source: traffic(9000, [50 * MS], 60),
  }),
  'noise-and-stragglers': async () => ({
    ...BASE,
    source: traffic(),
    noise: { exec: 0.05, load: 0.1, stragglers: 0.02, stragglerFactor: 10 },
  }),
  'network-and-clock-offset': async () => ({
    ...BASE,
    gpus: 2,
    source: traffic(),
    network: { delayNs: 200_000, jitterNs: 100_000 },
    clockOffsetNs: 300_000,
  }),
  'gpu-clock': async () => ({
    ...BASE,
    gpus: 2,
    source: traffic(900),
    gpuClock: [
      { atNs: 150 * MS, gpu: 1, factor: 0.6 },
      { atNs: 300 * MS, gpu: -1, factor: 0.8 },
    ],
  }),
  copies: async () => ({ ...BASE, source: traffic(), copyBytesPerS: 6e9 }),
  'closed-loop': async () => ({ ...BASE, source: clients() }),
  'unlike-models': async () => ({ ...BASE, models: UNLIKE, gpus: 2, pages: 40, source: traffic(900) }),
  'two-kinds-of-gpus': async () => ({
    ...BASE,
    models: UNLIKE,
    gpus: 3,
    kinds: [
      { gpus: 1, pages: 40 },
      { gpus: 2, pages: 60 },
    ],
    source: traffic(1200, [100 * MS, 30 * MS]),
  }),
  lengths: async () => ({ ...BASE, models: TEXTS, gpus: 3, pages: 50, source: new VariedSource(3000) }),
  'classes-and-tenants': async () => ({
    ...BASE,
    classes: [
      { name: 'light', weight: 1, share: 0.2 },
      { name: 'heavy', weight: 5, share: 0 },
    ],
    tenants: [
      { name: 'limited', rateRps: 300, burst: 20, share: 1 },
      { name: 'any', rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 2 },
    ],
    source: new VariedSource(2500, true),
  }),
  'predicted-and-retried': async () => ({
    ...BASE,
    ...{ gpus: 2, pages: 70, admission: 'predict', missedWindow: 'retry', clockOffsetNs: 8 * MS },
    network: { delayNs: 500_000, jitterNs: 2 * MS },
    source: traffic(1500, [15 * MS, 40 * MS]),
  }),
};

function clients(): ArrivalSource {
  const spec = {
    kind: 'closed-loop',
    durationNs: 500 * MS,
    clients: 20,
    concurrency: 2,
    thinkNs: MS,
  } as const;
  const models = BASE.models.map(({ name }) => name);
  return new ClosedLoopSource(spec, frameOf(spec, { models, sloNs: 100 * MS, seed: 1 }, 'workload'));
}

/** Policies as they are run in each world; what they do by the second they do more often here. */
const POLICIES: readonly {
  readonly name: string;
  readonly policy: string;
  readonly options: PolicyOptions;
  readonly padding?: 'bucket';
}[] = [
  { name: 'clockwork', policy: 'clockwork', options: {} },
  { name: 'clockwork-tuned', policy: 'clockwork', options: { scheduleAhead: 3 * MS, latestDelta: 6 * MS } },
  { name: 'clockwork-auto', policy: 'clockwork', options: { scheduleAhead: AUTO } },
  { name: 'fifo', policy: 'fifo', options: {} },
  { name: 'alpaserve-sr', policy: 'alpaserve-sr', options: { window: 100 * MS } },
  { name: 'clipper', policy: 'clipper', options: {} },
  { name: 'edf', policy: 'edf', options: {} },
  { name: 'edgeserving', policy: 'edgeserving', options: {} },
  { name: 'escapement', policy: 'escapement', options: {}, padding: 'bucket' },
  { name: 'escapement-fixed', policy: 'escapement', options: { scheduleAhead: 3 * MS, fairness: 0 } },
  { name: 'nexus', policy: 'nexus', options: { epoch: 100 * MS } },
  { name: 'shepherd', policy: 'shepherd', options: { period: 100 * MS } },
  { name: 'symphony', policy: 'symphony', options: { margin: 1 * MS } },
];

/** Every golden run by its name. */
export const GOLDEN_RUNS: readonly (readonly [string, () => Promise<RunOptions>])[] = POLICIES.flatMap(
  ({ name, ...policy }) =>
    Object.entries(WORLDS).map(
      ([world, make]) => [`${name} ${world}`, async () => ({ ...(await make()), ...policy })] as const,
    ),
);
