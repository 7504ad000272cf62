import { NS_PER_S } from '../../base/units.js';
import type { ServerSettings } from '../../config/server-settings.js';
import { mapExecNs } from '../../core/lengths.js';
import type { ModelSpec } from '../../core/model.js';
import type { DeviceSpec } from '../../live/device.js';
import type { WorkerModel } from '../../live/model.js';
import type { MachineOptions } from '../../live/worker/local-machine.js';

/** Models as a server would run them, all with the same number of requests. */
export interface Subject {
  /** The repository or profile, for people. */
  readonly name: string;
  /** GPUs of the server. */
  readonly devices: readonly DeviceSpec[];
  readonly models: readonly WorkerModel[];
  /** Pages of the weights cache of each GPU. */
  readonly pages: number;
  readonly pageBytes: number;
  readonly settings: ServerSettings;
  /** SLO of the requests, ns; null: long enough for all waiting requests. */
  readonly sloNs: number | null;
}

/** All stages use the same tensors. */
export const TENSOR_SEED = 1;

/** With fewer clients the server idles between their requests. */
const LEAST_CLIENTS = 16;
const MOST_CLIENTS = 1000;
/** Batches per model: one runs or waits for the device while another gathers. */
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
export function chosenBatches({ models, settings }: Subject): number[] {
  return models.map(({ spec }) => bestBatch(spec, settings));
}

/** Closed-loop clients that keep the batches of all models full, and the server busy. */
export function enoughClients({ models }: Subject, batches: readonly number[]): number {
  const inBatches = models.reduce((sum, { spec }, m) => sum + spec.batchSizes[batches[m]], 0);
  return Math.min(MOST_CLIENTS, Math.max(LEAST_CLIENTS, BATCHES_OF_CLIENTS * inBatches));
}

/** Mean EXEC time of a request in the batch of its model. */
function requestNs({ models }: Subject, batches: readonly number[]): number {
  const each = models.map(({ spec }, m) => spec.execNs[batches[m]] / spec.batchSizes[batches[m]]);
  return each.reduce((sum, ns) => sum + ns, 0) / each.length;
}

/** SLO of the requests: as given, or long enough for this many clients to wait for each other. */
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

/** Planned duration of an action that takes no time; 0 would mean no demand. */
const SHORTEST_NS = 1000;

function timeless(model: WorkerModel): WorkerModel {
  const { spec } = model;
  const times = mapExecNs(spec, () => SHORTEST_NS);
  return { ...model, spec: { ...spec, loadNs: SHORTEST_NS, ...times }, ortPath: null };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

/** The subject with this many numbered copies of each model, to spread work evenly over as many GPUs. */
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
  };
}
