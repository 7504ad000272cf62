import * as z from 'zod';
import { DEFAULT_PAGE_BYTES } from '../base/units.js';
import type { ConditionsChange } from '../sim/simulator-options.js';
import { bandwidth, bytes, DERIVED_DEFAULT, duration, INSTEAD_OF, section, share } from './fields.js';
import { DEFAULT_MEMORY, gpusSchema, readKinds } from './schema-gpus.js';
import { formatBytes } from './units-text.js';

const delay = duration('One-way delay of a message between controller and worker, e.g. 100us.');
const jitter = duration('Mean of an additional exponential delay, drawn for each message.');
const network = section({ delay: delay.prefault('0s'), jitter: jitter.prefault('0s') });

const exec = share('Standard deviation of INFER durations relative to the profile, e.g. 1%.');
const load = share('Standard deviation of LOAD durations relative to the profile.');
const stragglers = share('Share of INFERs that take stragglerFactor times as long, e.g. 0.1%.', 1);
const stragglerFactor = z.number().min(1).describe('How many times as long a straggler takes.');

const noise = section({
  distribution: z
    .enum(['normal', 'profile', 'exponential'])
    .default('normal')
    .describe(
      'normal: durations are those of the profile; profile: they are drawn from the quantiles of the profile (min, median, p90, p99, max), and are longer right after another model; exponential: durations of INFERs are drawn from the exponential distribution with the same mean, as in queueing theory. exec and load are added to each.',
    ),
  exec: exec.prefault(0),
  load: load.prefault(0),
  stragglers: stragglers.prefault(0),
  stragglerFactor: stragglerFactor.default(10).describe('How many times as long a straggler takes.'),
  profile: share(
    "Error of the profiles: each model's true durations are its profile's times a factor drawn from 1 ± this.",
    0.9,
  ).prefault(0),
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
  gpu: z.int().min(0).exactOptional().describe('GPU, counted from 0; default: all.'),
  factor: z
    .number()
    .positive()
    .describe('Clock after the change, relative to nominal: 0.8 makes kernels 25 % slower.'),
});

const clusterSection = section({
  gpus: gpusSchema,
  workers: z.int().min(1).default(1).describe('Worker machines; the GPUs are dealt to them in blocks.'),
  pages: z.int().min(1).exactOptional().describe("Pages of each GPU's weights cache; instead of memory."),
  memory: bytes("Size of each GPU's weights cache, e.g. 16GiB; instead of pages.")
    .exactOptional()
    .meta({ [DERIVED_DEFAULT]: DEFAULT_MEMORY, [INSTEAD_OF]: 'pages' }),
  pageSize: bytes('Size of a page of the weights cache.').prefault(formatBytes(DEFAULT_PAGE_BYTES)),
  copyBandwidth: bandwidth(
    'Bandwidth of INPUT and OUTPUT copies, e.g. 12.2GB/s; unlimited: they take no time.',
  ).prefault('unlimited'),
  network: network.prefault({}).describe('Delay of messages between controller and workers.'),
  clockOffset: duration("Each worker's clock is off by a constant drawn from ± this.").prefault('0s'),
  noise: noise.prefault({}).describe('How durations deviate from the profile.'),
  lanes: z
    .enum(['two', 'one'])
    .default('two')
    .describe('one: a GPU runs a LOAD or an INFER, never both at once, as with webgpu; two: one of each.'),
  overhead: duration(
    'Time between a lane picking up an action and its begin, e.g. 50us; real executors have one.',
  ).prefault('0s'),
  abort: duration(
    'Time from stopping a running INFER until its lane is free again, for policies that preempt.',
  ).prefault('1ms'),
  gpuClock: z.array(clockChange).prefault([]).describe('Changes of the GPU clock during the run.'),
  changes: z.array(conditionsChange).prefault([]).describe('Changes of noise and network during the run.'),
});

export const clusterSchema = clusterSection.transform((cluster, context) => {
  const { kinds, listed, kindNames } = readKinds(cluster, (path, message) => {
    context.addIssue({ code: 'custom', path: [...path], message });
  });
  const gpus = kinds.reduce((sum, kind) => sum + kind.gpus, 0);
  if (cluster.workers > gpus) {
    context.addIssue({
      code: 'custom',
      path: ['workers'],
      message: `must be at most gpus (${gpus})`,
    });
  }
  cluster.gpuClock.forEach(({ gpu }, i) => {
    if (gpu === undefined || gpu < gpus) return;
    context.addIssue({
      code: 'custom',
      path: ['gpuClock', i, 'gpu'],
      message: `must be below gpus (${gpus})`,
    });
  });
  cluster.changes.forEach(({ noise, network }, i) => {
    if (Object.keys(noise).length + Object.keys(network).length > 0) return;
    context.addIssue({
      code: 'custom',
      path: ['changes', i],
      message: 'changes nothing: give noise or network',
    });
  });
  return {
    gpus,
    /** Those of which there are GPUs, in order of the GPUs' numbers; the names of all that are listed. */
    kinds,
    listed,
    kindNames,
    workers: cluster.workers,
    /** Of each GPU of the first kind. */
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
    /** Sorted by time; gpu −1 is all. */
    gpuClock: cluster.gpuClock
      .map(({ at, gpu, factor }) => ({ atNs: at, gpu: gpu ?? -1, factor }))
      .sort((left, right) => left.atNs - right.atNs),
    /** Sorted by time, each with everything that is in force from then on. */
    changes: resolveChanges(cluster),
  };
});

type Cluster = z.output<typeof clusterSection>;

/** Each change with everything that is in force from then on. */
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
