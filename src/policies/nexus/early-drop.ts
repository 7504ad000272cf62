import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { Latencies } from './latencies.js';

/**
 * Early drop (Nexus, SOSP 2019, §4.3): slides a window of the planned batch along the queue until its first
 * request has time left for the whole window to run, and drops all before it, so that a few requests that are nearly
 * late do not keep batches small for ever. Returns how many requests the window holds, 0 if none can be met.
 */
export function dropEarly(
  queue: DeadlineQueue,
  model: number,
  batch: number,
  startNs: number,
  latencies: Latencies,
): number {
  while (queue.length > 0) {
    const count = Math.min(batch, queue.length);
    if (queue.deadlineNsAt(0) >= startNs + latencies.execNs(model, count)) return count;
    queue.remove(queue.slotAt(0));
  }
  return 0;
}
