import { NS_PER_S } from '../../base/units.js';
import type { ServerSettings } from '../../config/server-settings.js';
import { mapExecNs } from '../../core/lengths.js';
import type { ModelSpec } from '../../core/model.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import type { WorkerModel } from '../../live/model.js';
import type { MachineOptions } from '../../live/worker/local-machine.js';

/** Models as a server would run them, and what of them is asked for. */
export interface ServedModels {
  /** The repository, experiment or profile, for people. */
  readonly name: string;
  readonly models: readonly WorkerModel[];
  /** Pages of the weights cache of each GPU. */
  readonly pages: number;
  readonly pageBytes: number;
  readonly settings: ServerSettings;
  /** By model: its share of the requests. The shares add up to 1. */
  readonly mix: readonly number[];
  /** SLO of the requests, ns; null: one with room for all that waits. */
  readonly sloNs: number | null;
}

/** What is measured part by part, on one GPU. */
export interface Subject extends ServedModels {
  readonly device: OrtDeviceSpec;
  /** Batch size of the device by itself; null: the one with the most requests per second. */
  readonly batchSize: number | null;
}

/** All stages work on the same numbers. */
export const TENSOR_SEED = 1;

/** Clients below this leave the server idle between two requests of theirs. */
const LEAST_CLIENTS = 16;
const MOST_CLIENTS = 1000;
/** One batch of each model runs or waits for the device, and another gathers meanwhile. */
const BATCHES_OF_CLIENTS = 2;
/** So many times what the requests that wait take. */
const ROOM = 4;
const LEAST_SLO_NS = NS_PER_S;
const SLO_STEP_NS = NS_PER_S / 10;

/** The batch size with the most requests per second that the policy may use, by its index among those of the model. */
export function bestBatch({ batchSizes, execNs }: ModelSpec, { policy }: ServerSettings): number {
  const maxBatch = numberOr(policy.options.maxBatch, Number.POSITIVE_INFINITY);
  const maxExecNs = numberOr(policy.options.maxExec, Number.POSITIVE_INFINITY);
  let best = 0;
  for (let i = 1; i < batchSizes.length; i++) {
    const usable = batchSizes[i] <= maxBatch && execNs[i] <= maxExecNs;
    if (usable && batchSizes[i] / execNs[i] > batchSizes[best] / execNs[best]) best = i;
  }
  return best;
}

/** By model: the index of the batch size of the device by itself. */
export function chosenBatches({ models, settings, batchSize }: Subject): number[] {
  return models.map(({ spec }) =>
    batchSize === null ? bestBatch(spec, settings) : spec.batchSizes.indexOf(batchSize),
  );
}

/** Closed-loop clients that keep the batches of all models full, and no server idle. */
export function enoughClients(subject: ServedModels, batches: readonly number[]): number {
  return Math.min(MOST_CLIENTS, Math.max(LEAST_CLIENTS, clientsOfBatches(subject, batches)));
}

/** Closed-loop clients that keep the batches of all models full. */
export function clientsOfBatches({ models, mix }: ServedModels, batches: readonly number[]): number {
  const inBatches = models.reduce(
    (sum, { spec }, m) => sum + (mix[m] > 0 ? spec.batchSizes[batches[m]] : 0),
    0,
  );
  return BATCHES_OF_CLIENTS * inBatches;
}

/** EXEC time of a request in the batch of its model, on average over the mix. */
export function requestNs({ models, mix }: ServedModels, batches: readonly number[]): number {
  return models.reduce((sum, { spec }, m) => {
    const at = batches[m];
    return sum + (mix[m] * spec.execNs[at]) / spec.batchSizes[at];
  }, 0);
}

/** The SLO of the requests: as given, or one that so many clients do not exceed by waiting for each other. */
export function benchSloNs(subject: ServedModels, batches: readonly number[], clients: number): number {
  if (subject.sloNs !== null) return subject.sloNs;
  const waitNs = ROOM * clients * requestNs(subject, batches);
  return Math.max(LEAST_SLO_NS, SLO_STEP_NS * Math.ceil(waitNs / SLO_STEP_NS));
}

/** A machine of one GPU for the subject: as it is, or one whose device takes no time, with tensors of the same sizes. */
export function machineOf(subject: Subject, instant: boolean): MachineOptions {
  const { device, models, pages, pageBytes } = subject;
  if (!instant) return { devices: [device], models, pages, pageBytes };
  return { devices: [{ kind: 'simulated', timeScale: 0 }], models: models.map(timeless), pages, pageBytes };
}

/** What the scheduler expects of an action that takes no time: what takes none is no demand. */
const SHORTEST_NS = 1000;

function timeless(model: WorkerModel): WorkerModel {
  const { spec } = model;
  const times = mapExecNs(spec, () => SHORTEST_NS);
  return { ...model, spec: { ...spec, loadNs: SHORTEST_NS, ...times }, ortPath: null };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
