import * as z from 'zod';
import { DEFAULT_PAGE_BYTES } from '../core/units.js';
import type { ConditionsChange } from '../sim/simulator.js';
import type { ClusterConfig } from './experiment.js';
import { bandwidth, bytes, DERIVED_DEFAULT, duration, section, share } from './fields.js';
import { formatBytes, parseBytes } from './units-text.js';

/**
 * What 32 GB of a V100 leave for weights in Clockwork's configuration: 1,376 pages of 16 MiB.
 */
const DEFAULT_MEMORY = '21.5GiB';

const delay = duration('One-way delay of a message between controller and worker, e.g. 100us.');
const jitter = duration('Mean of an exponential delay on top of it, drawn per message.');
const network = section({ delay: delay.prefault('0s'), jitter: jitter.prefault('0s') });

const exec = share('Standard deviation of INFER durations relative to the profile, e.g. 1%.');
const load = share('Standard deviation of LOAD durations relative to the profile.');
const stragglers = share('Share of INFERs that take stragglerFactor times as long, e.g. 0.1%.', 1);
const stragglerFactor = z.number().min(1).describe('How many times as long a straggler takes.');

const noise = section({
  distribution: z
    .enum(['normal', 'profile'])
    .default('normal')
    .describe(
      'profile: durations are drawn from the quantiles that profiles hold (min, median, p90, p99, max), and are longer after another model by what they say; normal: they are what the profile says. exec and load come on top of either.',
    ),
  exec: exec.prefault(0),
  load: load.prefault(0),
  stragglers: stragglers.prefault(0),
  stragglerFactor: stragglerFactor.default(10).describe('How many times as long a straggler takes.'),
  profile: share(
    "How wrong profiles are: each model's true durations are its profile's times a factor drawn from 1 ± this.",
    0.9,
  ).prefault(0),
});

const conditionsChange = section({
  at: duration('When it changes.'),
  noise: section({
    exec: exec.exactOptional(),
    load: load.exactOptional(),
    stragglers: stragglers.exactOptional(),
    stragglerFactor: stragglerFactor.exactOptional(),
  })
    .prefault({})
    .describe('Noise of the INFERs and LOADs that start from then on; keys left out stay as they are.'),
  network: section({ delay: delay.exactOptional(), jitter: jitter.exactOptional() })
    .prefault({})
    .describe('Delays of the messages that are sent from then on; keys left out stay as they are.'),
});

const clockChange = section({
  at: duration('When the GPU clock changes.'),
  gpu: z.int().min(0).exactOptional().describe('Which GPU, counted from 0; all of them when absent.'),
  factor: z
    .number()
    .positive()
    .describe('The clock from then on, relative to nominal: 0.8 makes kernels 25 % slower.'),
});

const clusterSection = section({
  gpus: z.int().min(1).max(10_000).default(1).describe('GPUs over all workers.'),
  workers: z.int().min(1).default(1).describe('Worker machines; the GPUs are dealt to them in blocks.'),
  pages: z.int().min(1).exactOptional().describe("Pages of each GPU's weights cache. Instead of memory."),
  memory: bytes("Size of each GPU's weights cache, e.g. 16GiB. Instead of pages.")
    .exactOptional()
    .meta({ [DERIVED_DEFAULT]: DEFAULT_MEMORY }),
  pageSize: bytes('Size of a page of the weights cache.').prefault(formatBytes(DEFAULT_PAGE_BYTES)),
  copyBandwidth: bandwidth(
    'Bandwidth of INPUT and OUTPUT copies, e.g. 12.2GB/s; unlimited: they take no time.',
  ).prefault('unlimited'),
  network: network.prefault({}).describe('Delay of messages between controller and workers.'),
  clockOffset: duration("Each worker's clock is off by a constant drawn from ± this.").prefault('0s'),
  noise: noise.prefault({}).describe('How far durations stray from the profile.'),
  lanes: z
    .enum(['two', 'one'])
    .default('two')
    .describe('one: a GPU runs a LOAD or an INFER, never both at once, as with webgpu; two: one of each.'),
  overhead: duration(
    'What a lane needs between taking up an action and its begin, as real executors do, e.g. 50us.',
  ).prefault('0s'),
  abort: duration(
    'What it takes to stop a running INFER, for policies that preempt: until its lane is free again.',
  ).prefault('1ms'),
  gpuClock: z.array(clockChange).prefault([]).describe('Changes of the GPU clock during the run.'),
  changes: z.array(conditionsChange).prefault([]).describe('Changes of noise and network during the run.'),
});

export const clusterSchema = clusterSection.transform((cluster, context): ClusterConfig => {
  if (cluster.pages !== undefined && cluster.memory !== undefined) {
    context.addIssue({ code: 'custom', path: ['memory'], message: 'give pages or memory, not both' });
  }
  if (cluster.workers > cluster.gpus) {
    context.addIssue({
      code: 'custom',
      path: ['workers'],
      message: `must be at most gpus (${cluster.gpus})`,
    });
  }
  cluster.gpuClock.forEach(({ gpu }, i) => {
    if (gpu === undefined || gpu < cluster.gpus) return;
    context.addIssue({
      code: 'custom',
      path: ['gpuClock', i, 'gpu'],
      message: `must be below gpus (${cluster.gpus})`,
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
  const pages =
    cluster.pages ?? Math.floor((cluster.memory ?? parseBytes(DEFAULT_MEMORY)) / cluster.pageSize);
  if (pages < 1)
    context.addIssue({ code: 'custom', path: ['memory'], message: 'must hold at least one page (pageSize)' });
  return {
    gpus: cluster.gpus,
    workers: cluster.workers,
    pages,
    pageBytes: cluster.pageSize,
    copyBytesPerS: cluster.copyBandwidth,
    network: { delayNs: cluster.network.delay, jitterNs: cluster.network.jitter },
    clockOffsetNs: cluster.clockOffset,
    noise: cluster.noise,
    oneLane: cluster.lanes === 'one',
    overheadNs: cluster.overhead,
    abortNs: cluster.abort,
    gpuClock: cluster.gpuClock
      .map(({ at, gpu, factor }) => ({ atNs: at, gpu: gpu ?? -1, factor }))
      .sort((left, right) => left.atNs - right.atNs),
    changes: resolveChanges(cluster),
  };
});

type Cluster = z.output<typeof clusterSection>;

/** Each change with all that is in force from then on. */
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
