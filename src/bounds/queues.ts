import type { BatchKind } from './costs.js';
import type { Windows } from './requests.js';

/** Requests of one model in order of arrival, with ascending deadlines. */
export interface Queue {
  readonly kinds: readonly BatchKind[];
  /** Indices into the windows. */
  readonly requests: Int32Array;
  readonly arrivalNs: Float64Array;
  /** Ascending, and at least the request's own. */
  readonly deadlineNs: Float64Array;
  /** True if every deadline is the request's own, and all inputs have one length. */
  readonly exact: boolean;
  /** Kinds of batches that may lie within a longer one on another GPU, with requests from before and after its own. */
  readonly nestable: readonly BatchKind[];
}

/**
 * One queue for each model that has requests. A request that expires before an earlier one is given the deadline of
 * that one: anything that could be served before still can, and batches may be taken in order (README.md).
 */
export function queuesOf(windows: Windows, kinds: readonly (readonly BatchKind[])[], gpus: number): Queue[] {
  const queues: Queue[] = [];
  for (let model = 0; model < kinds.length; model++) {
    const requests = windows.byModel.subarray(windows.firstOf[model], windows.firstOf[model + 1]);
    if (requests.length === 0) continue;
    const deadlineNs = new Float64Array(requests.length);
    let latestNs = 0;
    // Batches of different lengths may overtake each other: the queue is treated as having inputs of the shortest
    // length.
    let exact = kinds[model].every(({ execNsOf }) => execNsOf === null);
    for (let p = 0; p < requests.length; p++) {
      const ownNs = windows.deadlineNs[requests[p]];
      if (ownNs < latestNs) exact = false;
      latestNs = Math.max(latestNs, ownNs);
      deadlineNs[p] = latestNs;
    }
    const arrivalNs = Float64Array.from(requests, (i) => windows.arrivalNs[i]);
    queues.push({
      kinds: kinds[model],
      requests,
      arrivalNs,
      deadlineNs,
      exact,
      nestable: nestableOf(kinds[model], gpus),
    });
  }
  return queues;
}

/** On one GPU batches have an order; a request alone comes from either side, unless it takes longer than a batch of several. */
function nestableOf(kinds: readonly BatchKind[], gpus: number): readonly BatchKind[] {
  if (gpus === 1) return [];
  const several = kinds.filter(({ size }) => size > 1);
  const leastNs = Math.min(...several.map(({ execNs }) => execNs));
  return kinds.filter(({ size, execNs }) => size > 1 || execNs > leastNs);
}

/**
 * Shortest batch, ns, that may lie within a longer one and be worth `price` per ns of GPU time; Infinity: none. Requests
 * of any batch count as in time if they are due no sooner than one of this duration would end: then all batches have
 * the order in which they start (README.md).
 */
export function nestedNs({ nestable }: Queue, price: number): number {
  let leastNs = Number.POSITIVE_INFINITY;
  for (const { size, execNs, price: ofKind } of nestable)
    if (size > price * ofKind * execNs) leastNs = Math.min(leastNs, execNs);
  return leastNs;
}
