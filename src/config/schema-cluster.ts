import * as z from 'zod';
import { DEFAULT_PAGE_BYTES, NS_PER_S } from '../base/units.js';
import type { FailureSpec } from '../sim/failures.js';
import type { ConditionsChange } from '../sim/simulator-options.js';
import {
  bandwidth,
  bytes,
  choice,
  DERIVED_DEFAULT,
  duration,
  durationOrForever,
  flag,
  price,
  rate,
  section,
  share,
  whole,
} from './fields.js';
import { LIVE_DEVICES, type LiveDevice } from './schema-runtime.js';
import { formatBytes, parseBytes } from './units-text.js';

/** Space for weights on a 32 GB V100 in Clockwork's configuration: 1,376 pages of 16 MiB. */
const DEFAULT_MEMORY = '21.5GiB';

export const MOST_GPUS = 10_000;

const gpuKind = section({
  kind: z
    .string()
    .regex(/^[A-Za-z0-9][\w-]*$/)
    .describe('Name of the kind, e.g. v100.'),
  count: whole('GPUs of the kind, with a scaler at the start.', 0, MOST_GPUS).default(1),
  min: whole(
    'Fewest GPUs of the kind that a scaler keeps; default: 0, or 1 if it is the only kind.',
    0,
    MOST_GPUS,
  ).exactOptional(),
  max: whole('Most GPUs of the kind that a scaler orders; default: count.', 1, MOST_GPUS).exactOptional(),
  start: duration(
    'Time from the order of a GPU until it takes actions, e.g. 60s; it is paid for from the order.',
  ).prefault('0s'),
  minLifetime: duration(
    'Shortest time from the order of a GPU until a scaler stops it, e.g. 10m, as clouds bill a minimum.',
  ).prefault('0s'),
  pages: whole("Pages of each one's weights cache; instead of memory.", 1).exactOptional(),
  memory: bytes(
    "Size of each one's weights cache; default: cluster.pages or cluster.memory.",
  ).exactOptional(),
  price: price('Price of one GPU, in any currency, e.g. 2.48/h.').exactOptional(),
  speed: z
    .number()
    .positive()
    .exactOptional()
    .describe(
      'Speed of INFERs relative to the first kind, for models without a profile for it; LOADs take as long.',
    ),
  device: choice('Device of the kind in live mode; default: live.device.', LIVE_DEVICES).exactOptional(),
});

const gpuKinds = z.array(gpuKind.meta({ id: 'gpuKind' }), {
  error: ({ code }) =>
    code === 'invalid_type' ? 'must be a list of kinds such as { kind: v100, count: 4 }' : undefined,
});

/** `cluster.gpus`: a number, or a list of kinds. */
const gpusSchema = z
  .union([z.int().min(1).max(MOST_GPUS), gpuKinds.min(1)])
  .prefault(1)
  .describe('Number of GPUs over all workers, or a list of their kinds.');

/** One kind of GPUs of a cluster. */
export interface GpuKindConfig {
  /** Null: the cluster has one unnamed kind. */
  readonly name: string | null;
  readonly gpus: number;
  /** Number of GPUs on at the start. All, unless a scaler decides; then `gpus` is the maximum. */
  readonly on: number;
  /** Limits of a scaler: minimum and maximum number of GPUs, start time, and minimum lifetime. */
  readonly scaled: {
    readonly min: number;
    readonly max: number;
    readonly startNs: number;
    /** Minimum lifetime of a GPU, from its order on. */
    readonly minLifetimeNs: number;
  };
  /** Pages of each GPU's weights cache. */
  readonly pages: number;
  readonly pricePerHour: number | null;
  /** Relative to the models' own profiles, for models without one for this kind; null: they need one. */
  readonly speed: number | null;
  /** In live mode; null: as in `live.device`. */
  readonly device: LiveDevice | null;
}

type Refuse = (path: readonly (string | number)[], message: string) => void;

/** All kinds of GPUs that a cluster lists, those without a GPU included; `refuse` notes a mistake at a path within it. */
function readKinds({ gpus, pageSize, ...shared }: Cluster, refuse: Refuse): GpuKindConfig[] {
  const pagesOf = ({ pages, memory }: { readonly pages?: number; readonly memory?: number }) =>
    pages ?? (memory === undefined ? undefined : Math.floor(memory / pageSize));
  const list: readonly z.output<typeof gpuKind>[] =
    typeof gpus === 'number' ? [{ kind: '', count: gpus, min: gpus, start: 0, minLifetime: 0 }] : gpus;
  const kinds = list.map((entry, i): GpuKindConfig => {
    const { kind, count, price = null, device = null, start, minLifetime, ...own } = entry;
    const { min = list.length === 1 ? Math.min(1, count) : 0, max = count, speed = i === 0 ? 1 : null } = own;
    const pages = pagesOf(own) ?? pagesOf(shared) ?? Math.floor(parseBytes(DEFAULT_MEMORY) / pageSize);
    const at = (key: string) => ['gpus', i, key];
    if (own.pages !== undefined && own.memory !== undefined) refuse(at('memory'), BOTH);
    if (pages < 1) refuse(own.memory === undefined ? ['memory'] : at('memory'), TOO_LITTLE);
    if (own.min !== undefined && min > max) refuse(at('min'), `must be at most max (${max}), found ${min}`);
    else if (own.min !== undefined && count < min)
      refuse(at('count'), `must be at least min (${min}), found ${count}`);
    else if (count > max) refuse(at('count'), `must be at most max (${max}), found ${count}`);
    if (list.findIndex((other) => other.kind === kind) < i)
      refuse(at('kind'), `${kind} is listed twice: give one entry all of them`);
    const scaled = { min, max, startNs: start, minLifetimeNs: minLifetime };
    const name = typeof gpus === 'number' ? null : kind;
    return { name, gpus: count, on: count, scaled, pages, pricePerHour: price, speed, device };
  });
  if (shared.pages !== undefined && shared.memory !== undefined) refuse(['memory'], BOTH);
  const total = kinds.reduce((sum, kind) => sum + kind.gpus, 0);
  if (total < 1) refuse(['gpus'], NO_GPUS);
  if (total > MOST_GPUS) refuse(['gpus'], `must be at most ${MOST_GPUS} GPUs, found ${total}`);
  return kinds;
}

const NO_GPUS = 'needs at least one GPU: the count of every kind is 0';

const BOTH = 'give pages or memory, not both';
const TOO_LITTLE = 'must hold at least one page (pageSize)';

const delay = duration('One-way delay of a message between controller and worker, e.g. 100us.');
const jitter = duration('Mean of an additional exponential delay, drawn for each message.');
const network = section({ delay: delay.prefault('0s'), jitter: jitter.prefault('0s') });

const exec = share('Standard deviation of INFER durations relative to the profile, e.g. 1%.', 100);
const load = share('Standard deviation of LOAD durations relative to the profile.', 100);
const stragglers = share('Share of INFERs that take stragglerFactor times as long, e.g. 0.1%.', 1);
const stragglerFactor = z.number().min(1).describe('Factor by which a straggler takes longer.');

const noise = section({
  distribution: choice(
    'normal: durations of the profile; profile: drawn from its quantiles (min, median, p90, p99, max), and longer right after another model; exponential: INFERs are exponential with the same mean, as in queueing theory. exec and load are added to each.',
    ['normal', 'profile', 'exponential'],
  ).default('normal'),
  exec: exec.prefault(0),
  load: load.prefault(0),
  stragglers: stragglers.prefault(0),
  stragglerFactor: stragglerFactor.default(10).describe('Factor by which a straggler takes longer.'),
  profile: share(
    'Error of the profiles: true durations of a model are those of its profile times a factor drawn from 1 ± this.',
    0.9,
  ).prefault(0),
  scale: z
    .record(z.string(), z.number().positive())
    .prefault({})
    .describe(
      'Factors by which INFERs of models take longer than profiled, e.g. { ranker: 1.1 }; see calibrate.',
    ),
});

const conditionsChange = section({
  at: duration('Time of the change.'),
  noise: section({
    exec: exec.exactOptional(),
    load: load.exactOptional(),
    stragglers: stragglers.exactOptional(),
    stragglerFactor: stragglerFactor.exactOptional(),
  })
    .prefault({})
    .describe('Noise of INFERs and LOADs that start after the change; omitted keys keep their values.'),
  network: section({ delay: delay.exactOptional(), jitter: jitter.exactOptional() })
    .prefault({})
    .describe('Delays of messages that are sent after the change; omitted keys keep their values.'),
});

const clockChange = section({
  at: duration('Time of the change.'),
  gpu: whole('GPU, counted from 0; default: all.', 0).exactOptional(),
  factor: z
    .number()
    .positive()
    .describe('Clock after the change, relative to nominal: 0.8 makes kernels 25 % slower.'),
});

const isBilled = flag('false: it costs nothing while it is gone.').default(true);

const failure = z.union([
  section({
    at: duration('Time of the failure.'),
    gpu: whole('GPU, counted from 0.', 0),
    for: durationOrForever('Time until it is back, e.g. 2m, or forever.'),
    slowdown: z
      .number()
      .min(1)
      .exactOptional()
      .describe('Instead of being gone, it takes this many times as long for INFERs.'),
    billed: isBilled,
  }),
  section({
    rate: rate('Failures of each GPU, at random times, e.g. 0.01/h.'),
    repair: duration('Time until it is back.', 1),
    billed: isBilled,
  }),
]);

const clusterSection = section({
  gpus: gpusSchema,
  workers: whole('Worker machines; the GPUs are dealt to them in blocks.', 1).default(1),
  pages: whole("Pages of each GPU's weights cache; instead of memory.", 1).exactOptional(),
  memory: bytes("Size of each GPU's weights cache, e.g. 16GiB; instead of pages.")
    .exactOptional()
    .meta({ [DERIVED_DEFAULT]: DEFAULT_MEMORY }),
  pageSize: bytes('Size of a page of the weights cache.').prefault(formatBytes(DEFAULT_PAGE_BYTES)),
  copyBandwidth: bandwidth(
    'Bandwidth of INPUT and OUTPUT copies, e.g. 12.2GB/s; unlimited: they take no time.',
  ).prefault('unlimited'),
  network: network.prefault({}).describe('Delay of messages between controller and workers.'),
  clockOffset: duration("Largest offset of a worker's clock; each is drawn from ± this.").prefault('0s'),
  noise: noise.prefault({}).describe('How durations deviate from the profile.'),
  lanes: choice('two: a GPU runs a LOAD and an INFER at once; one: only either, as with webgpu.', [
    'two',
    'one',
  ]).default('two'),
  overhead: duration(
    'Time from picking up an action to starting it, as real executors have, e.g. 50us.',
  ).prefault('0s'),
  abort: duration(
    'Time until the lane of an aborted INFER is free again, for policies that preempt.',
  ).prefault('1ms'),
  gpuClock: z.array(clockChange).prefault([]).describe('Changes of the GPU clock during the run.'),
  changes: z.array(conditionsChange).prefault([]).describe('Changes of noise and network during the run.'),
  failures: z
    .array(failure)
    .prefault([])
    .describe('Simulated GPUs that fail: their actions are lost, and they come back without weights.'),
});

export const clusterSchema = clusterSection.transform((cluster, context) => {
  const refuse: Refuse = (path, message) => {
    context.addIssue({ code: 'custom', path: [...path], message });
  };
  const listed = readKinds(cluster, refuse);
  const kinds = listed.filter((kind) => kind.gpus > 0);
  const gpus = kinds.reduce((sum, kind) => sum + kind.gpus, 0);
  if (cluster.workers > gpus) refuse(['workers'], `must be at most gpus (${gpus})`);
  cluster.gpuClock.forEach(({ gpu = 0 }, i) => {
    if (gpu >= gpus) refuse(['gpuClock', i, 'gpu'], `must be below gpus (${gpus})`);
  });
  cluster.failures.forEach((one, i) => {
    if ('gpu' in one && one.gpu >= gpus) refuse(['failures', i, 'gpu'], `must be below gpus (${gpus})`);
  });
  cluster.changes.forEach(({ noise, network }, i) => {
    if (Object.keys({ ...noise, ...network }).length === 0)
      refuse(['changes', i], 'changes nothing: give noise or network');
  });
  const slowdowns = cluster.failures.flatMap(slowing);
  return {
    gpus,
    /** Kinds with GPUs, in order of the GPUs' numbers; the names of all that are listed. */
    kinds,
    listed,
    kindNames: listed.flatMap(({ name }) => name ?? []),
    workers: cluster.workers,
    /** For each GPU of the first kind. */
    pages: kinds[0]?.pages ?? 0,
    pageBytes: cluster.pageSize,
    /** Infinity: copies take no time. */
    copyBytesPerS: cluster.copyBandwidth,
    network: { delayNs: cluster.network.delay, jitterNs: cluster.network.jitter },
    clockOffsetNs: cluster.clockOffset,
    noise: cluster.noise,
    oneLane: cluster.lanes === 'one',
    overheadNs: cluster.overhead,
    abortNs: cluster.abort,
    /** Sorted by time; gpu −1 means all. Those of slowdowns are marked. */
    gpuClock: [
      ...cluster.gpuClock.map(({ at, gpu, factor }) => ({ atNs: at, gpu: gpu ?? -1, factor })),
      ...slowdowns.flatMap((slowdown) => slowed(slowdown, cluster.gpuClock)),
    ].sort((left, right) => left.atNs - right.atNs),
    failures: cluster.failures.flatMap(failing),
    slowdowns,
    /** Sorted by time, each with all conditions in force from then on. */
    changes: resolveChanges(cluster),
  };
});

type Cluster = z.output<typeof clusterSection>;

type Failure = Cluster['failures'][number];

type Slowdown = ReturnType<typeof slowing>[number];

/** A GPU that is slow for a while; `untilNs` is Infinity if it stays so. */
function slowing(failure: Failure) {
  if (!('slowdown' in failure) || failure.slowdown === undefined) return [];
  const { gpu, at, slowdown } = failure;
  return [{ gpu, atNs: at, untilNs: at + failure.for, times: slowdown }];
}

/** Clock changes of a GPU that is slow for a while, and then has the clock again that `gpuClock` gives it. */
function slowed({ gpu, atNs, untilNs, times }: Slowdown, clocks: Cluster['gpuClock']) {
  const own = clocks.filter((change) => change.gpu === undefined || change.gpu === gpu);
  const clockAt = (ns: number) =>
    own.filter((change) => change.at <= ns).sort((a, b) => b.at - a.at)[0]?.factor ?? 1;
  const back = untilNs < Number.POSITIVE_INFINITY ? [{ at: untilNs, factor: clockAt(untilNs) }] : [];
  const within = own.filter((change) => change.at > atNs && change.at < untilNs);
  const slow = [{ at: atNs, factor: clockAt(atNs) }, ...within].map((change) => ({
    at: change.at,
    factor: change.factor / times,
  }));
  return [...slow, ...back].map(({ at, factor }) => ({ atNs: at, gpu, factor, isSlow: true as const }));
}

function failing(failure: Failure): FailureSpec[] {
  const isBilled = failure.billed;
  if ('rate' in failure) return [{ perNs: failure.rate / NS_PER_S, repairNs: failure.repair, isBilled }];
  if (failure.slowdown !== undefined) return [];
  return [{ atNs: failure.at, gpu: failure.gpu, forNs: failure.for, isBilled }];
}

/** Each change with all conditions in force from then on. */
function resolveChanges({ noise, network, changes }: Cluster): ConditionsChange[] {
  const { exec, load, stragglers, stragglerFactor } = noise;
  let now: Omit<ConditionsChange, 'atNs'> = {
    noise: { exec, load, stragglers, stragglerFactor },
    network: { delayNs: network.delay, jitterNs: network.jitter },
  };
  return [...changes]
    .sort((left, right) => left.at - right.at)
    .map((change) => {
      const { delay = now.network.delayNs, jitter = now.network.jitterNs } = change.network;
      now = { noise: { ...now.noise, ...change.noise }, network: { delayNs: delay, jitterNs: jitter } };
      return { atNs: change.at, ...now };
    });
}
