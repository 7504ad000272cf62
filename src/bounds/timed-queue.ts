import type { BatchKind } from './costs.js';
import type { PriceCurve } from './price-curve.js';
import type { Queue } from './queues.js';

/** The best batches of one model at a given price curve. */
export class TimedQueue {
  private readonly best: Float64Array;
  /** Members of the batch that ends with each request in the best choice up to it, 0: that one is left out. */
  private readonly members: Int32Array;
  private readonly startNs: Float64Array;
  /** Shortest execution of k requests together. */
  private readonly execNs: Float64Array;

  constructor(private readonly queue: Queue) {
    const count = queue.arrivalNs.length;
    this.best = new Float64Array(count + 1);
    this.members = new Int32Array(count);
    this.startNs = new Float64Array(count);
    this.execNs = shortestExecutions(queue.kinds);
  }

  /** Requests served less the price of their batches, at most; adds the time of those batches to `usedNs`. */
  profit(curve: PriceCurve, usedNs: Float64Array): number {
    const { best, members, startNs, execNs } = this;
    const { arrivalNs, deadlineNs } = this.queue;
    const count = arrivalNs.length;
    for (let i = 0; i < count; i++) {
      let most = best[i];
      let chosen = 0;
      for (let k = Math.min(execNs.length - 1, i + 1); k > 0; k--) {
        // Even for nothing it would be no better, and smaller ones are worth less still.
        const worth = best[i + 1 - k] + k;
        if (worth <= most) break;
        const latestNs = deadlineNs[i + 1 - k] - execNs[k];
        if (latestNs < arrivalNs[i]) continue;
        const profit = worth - curve.cheapest(arrivalNs[i], latestNs, execNs[k]);
        if (profit <= most) continue;
        most = profit;
        chosen = k;
        startNs[i] = curve.cheapestNs;
      }
      best[i + 1] = most;
      members[i] = chosen;
    }
    for (let i = count - 1; i >= 0; i -= Math.max(1, members[i])) {
      if (members[i] > 0) curve.spread(startNs[i], startNs[i] + execNs[members[i]], usedNs);
    }
    return best[count];
  }
}

function shortestExecutions(kinds: readonly BatchKind[]): Float64Array {
  const largest = Math.max(...kinds.map(({ size }) => size));
  return Float64Array.from({ length: largest + 1 }, (_, k) =>
    Math.min(...kinds.filter(({ size }) => size >= k).map(({ execNs }) => execNs)),
  );
}
