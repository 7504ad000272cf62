import { DueQueue } from '../core/due-queue.js';
import type { Windows } from './requests.js';

/**
 * The most work, ns of GPU time, that a preemptive machine as fast as `gpus` GPUs can do on the requests that
 * cost at most `limitNs`, each within its window and none for more than its cost. Earliest deadline first does
 * that much: it never idles while there is work, and what it leaves undone would fit no better elsewhere.
 *
 * `rankNs`: what is compared with the limit, where that is not the cost. `scarceNs`, where given, is lowered to `limitNs` for the requests that are not finished.
 */
export function mostWork(
  windows: Windows,
  costNs: Float64Array,
  limitNs: number,
  gpus: number,
  scarceNs?: Float64Array,
  rankNs: Float64Array = costNs,
): number {
  const { count, arrivalNs, deadlineNs } = windows;
  const leftNs = costNs.slice();
  const queue = new DueQueue();
  let nowNs = 0;
  let workNs = 0;
  const workUntil = (untilNs: number) => {
    while (queue.size > 0 && nowNs < untilNs) {
      const i = queue.topSlot;
      const finishNs = nowNs + leftNs[i] / gpus;
      const stopNs = Math.min(finishNs, deadlineNs[i], untilNs);
      if (stopNs > nowNs) {
        const doneNs = stopNs === finishNs ? leftNs[i] : (stopNs - nowNs) * gpus;
        leftNs[i] -= doneNs;
        workNs += doneNs;
        nowNs = stopNs;
      }
      if (stopNs < finishNs && stopNs >= deadlineNs[i] && scarceNs !== undefined)
        scarceNs[i] = Math.min(scarceNs[i], limitNs);
      if (stopNs < untilNs || stopNs === finishNs || stopNs >= deadlineNs[i]) queue.pop();
    }
  };
  for (let i = 0; i < count; i++) {
    if (rankNs[i] > limitNs) continue;
    workUntil(arrivalNs[i]);
    nowNs = Math.max(nowNs, arrivalNs[i]);
    queue.push(deadlineNs[i], i, i);
  }
  workUntil(Number.POSITIVE_INFINITY);
  return workNs;
}
