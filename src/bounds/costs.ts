import { type ModelSpec, timesOn } from '../core/model.js';
import type { Windows } from './requests.js';

/** A batch size usable on a kind of GPU. */
export interface BatchKind {
  readonly size: number;
  /** Time of one execution for inputs of the shortest length. */
  readonly execNs: number;
  /** Minimum time of a batch that holds an input of each bucket, ascending; null: all inputs have one length. */
  readonly execNsOf: readonly number[] | null;
  /** Value of a ns on GPUs of the kind, for comparing kinds. */
  readonly price: number;
}

/** Batch sizes of a model usable on a kind under a limit of `maxBatch`, ascending; the smallest is always one. */
export function batchKinds(model: ModelSpec, maxBatch: number, kind = 0, price = 1): BatchKind[] {
  const times = timesOn(model, kind);
  return model.batchSizes
    .map((size, i) => {
      const execNsOf = model.lengths === undefined ? null : leastByBucket(times.execNsByLength ?? [], i);
      const execNs = execNsOf?.[0] ?? times.execNs[i];
      return { size, execNs, execNsOf, price };
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
      for (let p = firstOf[model]; p < firstOf[model + 1]; p++) {
        const i = byModel[p];
        const execNs = execOf(kind, bucket[i]);
        if (deadlineNs[i] - arrivalNs[i] < execNs) continue;
        costNs[i] = Math.min(costNs[i], (kind.price * execNs) / kind.size);
      }
    }
  }
  return costNs;
}

/** Factors on the first costs, each for one set: what many could share is left to those that few can join. */
const FACTORS = [1, 0.8];

/**
 * Sets of costs such that the members of any possible batch cost no more than its time, ns: each bounds what can be
 * served. Requests that many others could join pay as little as they must; what a batch has left then goes to those
 * with little time, and last to all.
 */
export function windowCosts(windows: Windows, kinds: readonly (readonly BatchKind[])[]): Float64Array[] {
  const first = new Float64Array(windows.count);
  raiseCosts(windows, kinds, first, null);
  const tightness = tightnessOf(windows, kinds);
  const groups = [...new Set(tightness)].sort((a, b) => a - b);
  return (groups.length > 1 ? FACTORS : [1]).map((factor) => {
    const costNs = first.map((cost) => factor * cost);
    if (groups.length > 1)
      for (const group of groups)
        raiseCosts(
          windows,
          kinds,
          costNs,
          tightness.map((own) => (own === group ? 1 : 0)),
        );
    raiseCosts(windows, kinds, costNs, null);
    return costNs;
  });
}

/** By request: logarithm, to the base of 4 and rounded down, of its window relative to its time alone. */
function tightnessOf(windows: Windows, kinds: readonly (readonly BatchKind[])[]): Uint8Array {
  const { arrivalNs, deadlineNs, bucket, byModel, firstOf } = windows;
  const tightness = new Uint8Array(windows.count);
  for (let model = 0; model < kinds.length; model++)
    for (const i of byModel.subarray(firstOf[model], firstOf[model + 1])) {
      const aloneNs = Math.min(...kinds[model].map((kind) => execOf(kind, bucket[i])));
      tightness[i] = Math.log2((deadlineNs[i] - arrivalNs[i]) / aloneNs) / 2;
    }
  return tightness;
}

/** A kind of batch padded to a bucket at least, for inputs of this bucket and shorter ones. */
interface PaddedBatch {
  readonly size: number;
  readonly bucket: number;
  readonly execNs: number;
  readonly costNs: number;
  /** By request of the model: most that each member of a batch that starts when it arrives can pay in addition. */
  readonly spareNs: Float64Array;
}

/**
 * Raises the costs of the requests in `isRaised`, null for all, so that no possible batch costs more than its time: a
 * batch of size b that starts at s holds requests j with a_j ≤ s ≤ d_j − e(b). Of what it leaves, in addition to the
 * most expensive n raised and b − n other ones of those, each of the n gets an nth. Each request gets the least over all
 * batches that it could be in.
 */
export function raiseCosts(
  windows: Windows,
  kinds: readonly (readonly BatchKind[])[],
  costNs: Float64Array,
  isRaised: Uint8Array | null,
): void {
  const { arrivalNs, bucket, byModel, firstOf } = windows;
  const addedNs = new Float64Array(windows.count).fill(Number.POSITIVE_INFINITY);
  for (let model = 0; model < kinds.length; model++) {
    const requests = byModel.subarray(firstOf[model], firstOf[model + 1]);
    if (requests.length === 0) continue;
    const batches = paddedBatches(kinds[model], requests.length);
    const largest = Math.max(...batches.map(({ size }) => size));
    const leastNs = Math.min(...batches.map(({ execNs }) => execNs));
    const raised = new OpenRequests(windows, costNs, largest, leastNs);
    const others = new OpenRequests(windows, costNs, largest, leastNs);
    for (let p = 0; p < requests.length; p++) {
      const i = requests[p];
      (isRaised === null || isRaised[i] === 1 ? raised : others).add(i);
      for (const batch of batches) {
        let spareNs = Number.POSITIVE_INFINITY;
        // Such batches without the request could have started before it arrived.
        const count = batch.bucket < bucket[i] ? 0 : raised.sum(batch, arrivalNs[i]);
        const rest = count === 0 ? 0 : others.sum(batch, arrivalNs[i]);
        for (let n = 1; n <= count; n++) {
          const paidNs = raised.sumNs[n] + others.sumNs[Math.min(rest, batch.size - n)];
          spareNs = Math.min(spareNs, (batch.costNs - paidNs) / n);
        }
        batch.spareNs[p] = Math.max(0, spareNs);
      }
    }
    for (const batch of batches) spreadLeast(windows, requests, batch, addedNs);
  }
  for (let i = 0; i < windows.count; i++) if (isRaised === null || isRaised[i] === 1) costNs[i] += addedNs[i];
}

function paddedBatches(kinds: readonly BatchKind[], requests: number): PaddedBatch[] {
  return kinds.flatMap(({ size, execNs: ofShortest, execNsOf, price }) =>
    (execNsOf ?? [ofShortest]).map((execNs, bucket) => ({
      ...{ size, bucket, execNs, costNs: price * execNs, spareNs: new Float64Array(requests) },
    })),
  );
}

/** Limit on expired requests looked at in vain before they are removed. */
const MOST_EXPIRED = 16;

/** Requests of a model that have arrived and are not due, the most expensive first. */
class OpenRequests {
  /** Result of `sum`: total cost of the n most expensive requests found. */
  readonly sumNs: Float64Array;
  private open: number[] = [];
  private most = MOST_EXPIRED;
  private expired = 0;

  constructor(
    private readonly windows: Windows,
    private readonly costNs: Float64Array,
    largest: number,
    private readonly leastNs: number,
  ) {
    this.sumNs = new Float64Array(largest + 1);
  }

  add(i: number): void {
    const { costNs } = this;
    const { arrivalNs, deadlineNs } = this.windows;
    if (this.open.length >= this.most || this.expired > MOST_EXPIRED) {
      this.open = this.open.filter((j) => deadlineNs[j] >= arrivalNs[i] + this.leastNs);
      this.most = 2 * this.open.length + MOST_EXPIRED;
      this.expired = 0;
    }
    let low = 0;
    let high = this.open.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (costNs[this.open[middle]] < costNs[i]) high = middle;
      else low = middle + 1;
    }
    this.open.splice(low, 0, i);
  }

  /** Number of requests, up to its size, that such a batch could hold if it starts at `startNs`. */
  sum({ size, bucket, execNs }: PaddedBatch, startNs: number): number {
    const { open, sumNs, costNs } = this;
    const { deadlineNs } = this.windows;
    let count = 0;
    for (let at = 0; at < open.length && count < size; at++) {
      const j = open[at];
      if (deadlineNs[j] < startNs + this.leastNs) this.expired++;
      if (deadlineNs[j] < startNs + execNs || this.windows.bucket[j] > bucket) continue;
      sumNs[count + 1] = sumNs[count] + costNs[j];
      count++;
    }
    return count;
  }
}

/** Lowers `addedNs` of each request to the least spare time of such batches that it could be in. */
function spreadLeast(
  { arrivalNs, deadlineNs, bucket }: Windows,
  requests: Int32Array,
  { bucket: longest, execNs, spareNs }: PaddedBatch,
  addedNs: Float64Array,
): void {
  // The members of a batch are all there when the last of them arrives, so only arrivals matter. Going backwards, the
  // stack holds those with less to spare than any between them and the current one.
  const stack = new Int32Array(requests.length);
  let depth = 0;
  for (let p = requests.length - 1; p >= 0; p--) {
    const i = requests[p];
    while (depth > 0 && spareNs[stack[depth - 1]] >= spareNs[p]) depth--;
    stack[depth++] = p;
    const latestNs = deadlineNs[i] - execNs;
    if (bucket[i] > longest || latestNs < arrivalNs[i]) continue;
    let low = 0;
    let high = depth - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (arrivalNs[requests[stack[middle]]] <= latestNs) high = middle;
      else low = middle + 1;
    }
    addedNs[i] = Math.min(addedNs[i], spareNs[stack[low]]);
  }
}
