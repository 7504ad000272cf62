import { EscapementError } from '../../base/errors.js';
import { NS_PER_S, NS_PER_US } from '../../base/units.js';
import type { Experiment } from '../../config/experiment.js';
import { openWorkloads } from '../../config/open-workloads.js';
import type { ServerSettings } from '../../config/server-settings.js';
import { mapExecNs } from '../../core/lengths.js';
import type { ModelSpec } from '../../core/model.js';
import type { DeviceSpec } from '../../live/device.js';
import type { WorkerModel } from '../../live/model.js';
import type { MachineOptions } from '../../live/worker/local-machine.js';
import { BATCH_SIZE } from './vary.js';

/** Models as a server would run them, and the requests for them. */
export interface Subject {
  /** The repository, experiment or profile, for people. */
  readonly name: string;
  /** GPUs of the server. */
  readonly devices: readonly DeviceSpec[];
  readonly models: readonly WorkerModel[];
  /** Pages of the weights cache of each GPU. */
  readonly pages: number;
  readonly pageBytes: number;
  readonly settings: ServerSettings;
  /** By model: its share of the requests. The shares sum to 1. */
  readonly mix: readonly number[];
  /** SLO of the requests, ns; null: one with room for all that waits. */
  readonly sloNs: number | null;
  /** Batch size of the bare device; null: the one with the most requests per second. */
  readonly batchSize: number | null;
}

/** All stages work on the same numbers. */
export const TENSOR_SEED = 1;

/** With fewer clients the server idles between their requests. */
const LEAST_CLIENTS = 16;
const MOST_CLIENTS = 1000;
/** One batch of each model runs or waits for the device while another gathers. */
const BATCHES_OF_CLIENTS = 2;
/** SLO as a multiple of the time of all waiting requests. */
const ROOM = 4;
const LEAST_SLO_NS = NS_PER_S;
const SLO_STEP_NS = NS_PER_S / 10;

/** Index of the batch size with the most requests per second that the policy may use. */
function bestBatch({ batchSizes, execNs }: ModelSpec, { policy }: ServerSettings): number {
  const maxBatch = numberOr(policy.options.maxBatch, Number.POSITIVE_INFINITY);
  const maxExecNs = numberOr(policy.options.maxExec, Number.POSITIVE_INFINITY);
  let best = 0;
  for (let i = 1; i < batchSizes.length; i++) {
    const usable = batchSizes[i] <= maxBatch && execNs[i] <= maxExecNs;
    if (usable && batchSizes[i] / execNs[i] > batchSizes[best] / execNs[best]) best = i;
  }
  return best;
}

/** By model: index of the batch size of the bare device. */
export function chosenBatches({ models, settings, batchSize }: Subject): number[] {
  return models.map(({ spec }) =>
    batchSize === null ? bestBatch(spec, settings) : spec.batchSizes.indexOf(batchSize),
  );
}

/** Closed-loop clients that keep the batches of all models full, and the server busy. */
export function enoughClients({ models, mix }: Subject, batches: readonly number[]): number {
  const inBatches = models.reduce(
    (sum, { spec }, m) => sum + (mix[m] > 0 ? spec.batchSizes[batches[m]] : 0),
    0,
  );
  return Math.min(MOST_CLIENTS, Math.max(LEAST_CLIENTS, BATCHES_OF_CLIENTS * inBatches));
}

/** EXEC time of a request in the batch of its model, averaged over the mix. */
function requestNs({ models, mix }: Subject, batches: readonly number[]): number {
  return models.reduce((sum, { spec }, m) => {
    const at = batches[m];
    return sum + (mix[m] * spec.execNs[at]) / spec.batchSizes[at];
  }, 0);
}

/** SLO of the requests: as given, or one that this many clients do not exceed by waiting for each other. */
export function benchSloNs(subject: Subject, batches: readonly number[], clients: number): number {
  if (subject.sloNs !== null) return subject.sloNs;
  const waitNs = ROOM * clients * requestNs(subject, batches);
  return Math.max(LEAST_SLO_NS, SLO_STEP_NS * Math.ceil(waitNs / SLO_STEP_NS));
}

/** Machine for the subject: real, or with a device that takes no time, with tensors of the same sizes. */
export function machineOf(subject: Subject, instant: boolean): MachineOptions {
  const { devices, models, pages, pageBytes } = subject;
  if (!instant) return { devices, models, pages, pageBytes };
  return { devices: [{ kind: 'simulated', timeScale: 0 }], models: models.map(timeless), pages, pageBytes };
}

/** Planned duration of an action that takes no time: 0 would mean no demand. */
const SHORTEST_NS = 1000;

function timeless(model: WorkerModel): WorkerModel {
  const { spec } = model;
  const times = mapExecNs(spec, () => SHORTEST_NS);
  return { ...model, spec: { ...spec, loadNs: SHORTEST_NS, ...times }, ortPath: null };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

/**
 * The subject with this many copies of each model, in the same shares, so that work can be spread evenly over as many
 * GPUs; copies are numbered.
 */
export function withCopies(subject: Subject, copies: number): Subject {
  if (copies === 1) return subject;
  const each = Array.from({ length: copies }, (_, copy) => copy);
  return {
    ...subject,
    models: each.flatMap((copy) =>
      subject.models.map((model) => ({
        ...model,
        spec: { ...model.spec, name: `${model.spec.name}-${copy}` },
      })),
    ),
    mix: each.flatMap(() => subject.mix.map((share) => share / copies)),
  };
}

/**
 * The subject with one batch size for the bare device, which is also the largest that the server may use, regardless of
 * its policy. Throws `E_CONFIG_VALUE` if a model has no profile for it.
 */
export function fixBatch(subject: Subject, batchSize: number): Subject {
  const models = subject.models.map((model, m) => {
    const { batchSizes, name } = model.spec;
    if (batchSizes.includes(batchSize)) return { ...model, spec: upTo(model.spec, batchSize) };
    if (subject.mix[m] === 0) return model;
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `--vary ${BATCH_SIZE}: model ${name} has ${batchSizes.join(', ')}, not ${batchSize}: add it to batchSizes in its config.yaml`,
    );
  });
  const { policy } = subject.settings;
  const longestNs = Math.max(...models.flatMap(({ spec }) => spec.execNs));
  const options = {
    ...policy.options,
    ...('maxBatch' in policy.options ? { maxBatch: batchSize } : {}),
    ...(typeof policy.options.maxExec === 'number'
      ? { maxExec: Math.max(policy.options.maxExec, longestNs) }
      : {}),
  };
  const settings = { ...subject.settings, policy: { ...policy, options } };
  return { ...subject, models, settings, batchSize };
}

function upTo(spec: ModelSpec, batchSize: number): ModelSpec {
  const count = spec.batchSizes.indexOf(batchSize) + 1;
  const { execNsByLength } = spec;
  return {
    ...spec,
    batchSizes: spec.batchSizes.slice(0, count),
    execNs: spec.execNs.slice(0, count),
    ...(execNsByLength && { execNsByLength: execNsByLength.map((row) => row.slice(0, count)) }),
  };
}

/** Sample size: more requests do not change the shares by much. */
const REQUESTS = 10_000;

/**
 * Each model's share of the requests of an experiment's workload, from a sample of the first ones. Closed-loop clients
 * are answered at once. Throws errors of opening the workload, and `E_CONFIG_VALUE` if nothing arrives.
 */
export async function workloadMix(experiment: Experiment): Promise<number[]> {
  const { source } = await openWorkloads(experiment);
  const counts = new Array<number>(experiment.models.length).fill(0);
  let requests = 0;
  while (requests < REQUESTS) {
    if (source.starved) {
      await source.refill();
      continue;
    }
    const { timeNs, model, user } = source;
    if (timeNs === Number.POSITIVE_INFINITY) break;
    counts[model]++;
    requests++;
    source.advance();
    source.answered?.(user, timeNs + NS_PER_US);
  }
  if (requests === 0) {
    throw new EscapementError('E_CONFIG_VALUE', 'nothing arrives, so there is no mix of models to measure', {
      file: experiment.file,
      key: 'workload',
    });
  }
  return counts.map((count) => count / requests);
}
