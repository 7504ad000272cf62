import type { RequestTable } from '../../core/request.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';

/** No request is more urgent, however late it is. */
const MOST = 10;
/** It is so from this many times its SLO on. */
const MOST_FROM = 1 + Math.log(MOST);

/** How urgent waiting requests will be at a later time: each e^(time since it arrived / SLO − 1), which is 1 at its deadline, at most 10. */
export class Urgency {
  /** Of each model's requests so far. */
  private readonly longestSloNs: Float64Array;

  constructor(
    private readonly requests: RequestTable,
    models: number,
  ) {
    this.longestSloNs = new Float64Array(models);
  }

  arrived(slot: number): void {
    const { model, sloNs } = this.requests;
    this.longestSloNs[model[slot]] = Math.max(this.longestSloNs[model[slot]], sloNs[slot]);
  }

  forget(model: number): void {
    this.longestSloNs[model] = 0;
  }

  /** Of all requests in the model's queue, which is in order of arrival. */
  ofQueue(model: number, queue: DeadlineQueue, atNs: number): number {
    const mostFromNs = atNs - MOST_FROM * this.longestSloNs[model];
    let sum = 0;
    for (let i = queue.length - 1; i >= 0; i--) {
      const slot = queue.slotAt(i);
      // So are all that came before it.
      if (this.requests.arrivalNs[slot] <= mostFromNs) return sum + (i + 1) * MOST;
      sum += this.of(slot, atNs);
    }
    return sum;
  }

  /** Of the first `count` in the queue. */
  ofFirst(queue: DeadlineQueue, count: number, atNs: number): number {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += this.of(queue.slotAt(i), atNs);
    return sum;
  }

  private of(slot: number, atNs: number): number {
    const { arrivalNs, sloNs } = this.requests;
    return Math.min(MOST, Math.exp((atNs - arrivalNs[slot]) / sloNs[slot] - 1));
  }
}
