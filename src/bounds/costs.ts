import { type ModelSpec, timesOn } from '../core/model.js';
import type { Windows } from './requests.js';

/** A batch size usable on a kind of GPU. */
export interface BatchKind {
  readonly size: number;
  /** Time of one execution for inputs of the shortest length. */
  readonly execNs: number;
  /** Minimum time of a batch that holds an input of each bucket, ascending; null: all inputs have one length. */
  readonly execNsOf: readonly number[] | null;
  /** Execution times multiplied by the price of the kind, for comparing kinds. */
  readonly costNs: number;
}

/** Batch sizes of a model usable on a kind under a limit of `maxBatch`, ascending; the smallest is always one. */
export function batchKinds(model: ModelSpec, maxBatch: number, kind = 0, price = 1): BatchKind[] {
  const times = timesOn(model, kind);
  return model.batchSizes
    .map((size, i) => {
      const execNsOf = model.lengths === undefined ? null : leastByBucket(times.execNsByLength ?? [], i);
      const execNs = execNsOf?.[0] ?? times.execNs[i];
      return { size, execNs, execNsOf, costNs: price * execNs };
    })
    .filter(({ size }, i) => i === 0 || size <= maxBatch);
}

/** Minimum over buckets, since a batch may be padded to a longer bucket than its inputs need. */
function leastByBucket(rows: readonly (readonly number[])[], batchIndex: number): number[] {
  return rows.map((_, bucket) => Math.min(...rows.slice(bucket).map((row) => row[batchIndex])));
}

/** Time of a batch that holds an input of this bucket. */
export function execOf({ execNs, execNsOf }: BatchKind, bucket: number): number {
  return execNsOf === null ? execNs : execNsOf[bucket];
}

/** Minimum GPU time per request in a batch on a kind that ends within the SLO; Infinity if there is none. */
export function cheapestNs(model: ModelSpec, kind: number, maxBatch: number, sloNs: number): number {
  const inTime = batchKinds(model, maxBatch, kind).filter(({ execNs }) => execNs <= sloNs);
  return Math.min(...inTime.map(({ size, execNs }) => execNs / size));
}

/**
 * Minimum GPU time of each request, ns, if it may share a batch with any others of its model: min e(b) / b over the
 * sizes b that end within its SLO; where kinds differ, times the price of the kind.
 */
export function fluidCosts(windows: Windows, kinds: readonly (readonly BatchKind[])[]): Float64Array {
  const { arrivalNs, deadlineNs, bucket, byModel, firstOf } = windows;
  const costNs = new Float64Array(windows.count).fill(Number.POSITIVE_INFINITY);
  for (let model = 0; model < kinds.length; model++) {
    for (const kind of kinds[model]) {
      const price = kind.costNs / kind.execNs;
      for (let p = firstOf[model]; p < firstOf[model + 1]; p++) {
        const i = byModel[p];
        const execNs = execOf(kind, bucket[i]);
        if (deadlineNs[i] - arrivalNs[i] < execNs) continue;
        const batchNs = kind.execNsOf === null ? kind.costNs : price * execNs;
        costNs[i] = Math.min(costNs[i], batchNs / kind.size);
      }
    }
  }
  return costNs;
}

/**
 * Minimum GPU time of each request, ns, given the others: a batch of size b that holds request i starts at some s in
 * [a_i, d_i − e(b)] and holds only requests j of the same model with a_j ≤ s ≤ d_j − e(b), where e(b) is for the bucket
 * of j. So it takes at least e(b) / min(b, most such j at any such s); the result is the minimum over b.
 */
export function windowCosts(windows: Windows, kinds: readonly (readonly BatchKind[])[]): Float64Array {
  const { arrivalNs, deadlineNs, bucket, byModel, firstOf } = windows;
  const costNs = new Float64Array(windows.count).fill(Number.POSITIVE_INFINITY);
  for (let model = 0; model < kinds.length; model++) {
    for (const kind of kinds[model]) {
      const price = kind.costNs / kind.execNs;
      const fitting = byModel
        .subarray(firstOf[model], firstOf[model + 1])
        .filter((i) => deadlineNs[i] - arrivalNs[i] >= execOf(kind, bucket[i]));
      const most = mostCompanions(
        Float64Array.from(fitting, (i) => arrivalNs[i]),
        Float64Array.from(fitting, (i) => deadlineNs[i] - execOf(kind, bucket[i])),
      );
      for (let p = 0; p < fitting.length; p++) {
        const i = fitting[p];
        const batchNs = kind.execNsOf === null ? kind.costNs : price * kind.execNsOf[bucket[i]];
        costNs[i] = Math.min(costNs[i], batchNs / Math.min(kind.size, most[p]));
      }
    }
  }
  return costNs;
}

/**
 * For each interval [from, to], the maximum number of intervals, itself included, that overlap at one point of it.
 * `from` ascends, and no `to` lies before its `from`.
 */
function mostCompanions(from: Float64Array, to: Float64Array): Int32Array {
  const count = from.length;
  const open = openAt(from, to);
  // The number of open intervals rises only where one begins, so only beginnings matter. Going backwards, the stack
  // holds those with more open intervals than any beginning between them and the current one.
  const stack = new Int32Array(count);
  const most = new Int32Array(count);
  let depth = 0;
  for (let p = count - 1; p >= 0; p--) {
    while (depth > 0 && open[stack[depth - 1]] <= open[p]) depth--;
    stack[depth++] = p;
    let low = 0;
    let high = depth - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (from[stack[middle]] <= to[p]) high = middle;
      else low = middle + 1;
    }
    most[p] = open[stack[low]];
  }
  return most;
}

/** For each interval, the number open at its beginning, excluding those later in the list that begin there too. */
function openAt(from: Float64Array, to: Float64Array): Int32Array {
  const ends = to.slice().sort();
  const open = new Int32Array(from.length);
  let ended = 0;
  for (let p = 0; p < from.length; p++) {
    while (ends[ended] < from[p]) ended++;
    open[p] = p + 1 - ended;
  }
  return open;
}
