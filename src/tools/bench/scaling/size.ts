import { NS_PER_S } from '../../../base/units.js';
import { benchSloNs, bestBatch, clientsOfBatches, requestNs } from '../subject.js';
import { type ScalingSubject, withCopies } from './subject.js';

/** `strong`: the same work for any number of GPUs; `weak`: as much for each GPU. */
export const SCALING_MODES = ['strong', 'weak'] as const;
export type ScalingMode = (typeof SCALING_MODES)[number];

/** Work for one number of GPUs. */
export interface Work {
  readonly gpus: number;
  /** With the copies of its models. */
  readonly subject: ScalingSubject;
  readonly clients: number;
  readonly sloNs: number;
  /** Of a trial. */
  readonly requests: number;
  /** Before the first trial. */
  readonly warmUpRequests: number;
}

interface WorkOptions {
  /** Ascending. */
  readonly gpus: readonly number[];
  /** What a trial takes if nothing is lost, at least: each of weak scaling, that with the most GPUs of strong scaling. */
  readonly seconds: number;
  /** Requests at the same time: all of strong scaling, those of a GPU of weak scaling; null: as many as fill batches. */
  readonly clients: number | null;
}

/** Warm-up lasts at least so long, so that models get to the GPUs that will run them. */
const LEAST_WARM_UP_S = 1;
/** Controller and clients in one process get no more through: GPUs that are faster would have work for minutes. */
const MOST_REQUESTS_PER_S = 20_000;

/** The work of each number of GPUs. Each model has a copy for each GPU, so that work can be spread evenly. */
export function sizeWork(
  subject: ScalingSubject,
  mode: ScalingMode,
  { gpus, seconds, clients }: WorkOptions,
): Work[] {
  const most = gpus[gpus.length - 1];
  const batches = subject.models.map(({ spec }) => bestBatch(spec, subject.settings));
  const perGpuRps = Math.min(NS_PER_S / requestNs(subject, batches), MOST_REQUESTS_PER_S / most);
  const clientsOfCopy = clientsOfBatches(subject, batches);
  return gpus.map((count) => {
    const share = mode === 'strong' ? most : count;
    const all = clients === null ? clientsOfCopy * share : mode === 'strong' ? clients : clients * count;
    // All GPU counts have the SLO of the smallest, whose requests wait longest.
    const clientsOfGpu = Math.ceil(all / (mode === 'strong' ? gpus[0] : count));
    return {
      gpus: count,
      subject: withCopies(subject, share),
      clients: all,
      sloNs: benchSloNs(subject, batches, clientsOfGpu),
      requests: Math.ceil(perGpuRps * share * seconds),
      warmUpRequests: Math.max(2 * all, Math.ceil(perGpuRps * count * Math.max(LEAST_WARM_UP_S, seconds))),
    };
  });
}
