import { invariant } from '../base/invariant.js';
import { doubled } from '../base/ring.js';
import { NS_PER_MS } from '../base/units.js';

/** Minimum lead time of a lane: the time that an action takes to get there. */
export const TIMELINE_FUTURE_NS = NS_PER_MS;
/** Work overdue by this much is presumed finished: a lost result must not block a lane for ever. */
export const TIMELINE_LAG_NS = 10 * NS_PER_MS;

const INITIAL_CAPACITY = 16;

/**
 * The controller's estimate of one lane: the actions sent there without a result, and so the time at which the lane
 * should be free. Results correct it.
 */
export class LaneTimeline {
  /** Ring of outstanding actions in order of sending. */
  private ids = new Float64Array(INITIAL_CAPACITY);
  private sizes = new Float64Array(INITIAL_CAPACITY);
  private head = 0;
  private length = 0;
  /** Actual or expected start of the first outstanding action; total of the estimates from then on. */
  private beginNs = 0;
  private totalNs = 0;
  private closed = false;

  /** Number of outstanding actions; Infinity while the lane is closed. */
  get outstanding(): number {
    return this.closed ? Number.POSITIVE_INFINITY : this.length;
  }

  /**
   * Closes or opens the lane. A closed lane belongs to a GPU that drains or is gone and is never available; results of
   * its outstanding actions may still arrive.
   */
  setClosed(closed: boolean): void {
    invariant(closed || this.length === 0, 'a lane is opened when nothing is outstanding');
    this.closed = closed;
  }

  /** True if every action sent has its result, also on a closed lane. */
  get isEmpty(): boolean {
    return this.length === 0;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Sum of the estimates of outstanding actions. */
  get outstandingNs(): number {
    return this.totalNs;
  }

  /** Time at which the lane should be free for another action. */
  availableNs(nowNs: number): number {
    return nowNs + this.bookedNs(nowNs);
  }

  /** Time until the lane should be free for another action. */
  bookedNs(nowNs: number): number {
    if (this.closed) return Number.POSITIVE_INFINITY;
    if (this.length === 0) return TIMELINE_FUTURE_NS;
    const beginsNs = Math.max(this.beginNs - nowNs, -TIMELINE_LAG_NS - this.sizes[this.head]);
    return Math.max(TIMELINE_FUTURE_NS, beginsNs + this.totalNs);
  }

  /**
   * First time at which the lane is booked strictly less than `aheadNs` into the future, if no result arrives first;
   * Infinity if it takes a result to get there. 0 for an idle lane.
   */
  bookableAtNs(aheadNs: number): number {
    if (this.closed || aheadNs <= TIMELINE_FUTURE_NS) return Number.POSITIVE_INFINITY;
    if (this.length === 0) return 0;
    const overdueNs = this.totalNs - this.sizes[this.head] - TIMELINE_LAG_NS;
    return overdueNs < aheadNs ? this.beginNs + this.totalNs - aheadNs + 1 : Number.POSITIVE_INFINITY;
  }

  /** Adds an action; returns the number outstanding, including this one. */
  add(id: number, estimateNs: number, nowNs: number): number {
    if (this.length === 0) this.beginNs = nowNs;
    if (this.length === this.ids.length) this.grow();
    const at = (this.head + this.length) & (this.ids.length - 1);
    this.ids[at] = id;
    this.sizes[at] = estimateNs;
    this.totalNs += estimateNs;
    return ++this.length;
  }

  /** Removes an action with a result; the next one began when it ended. Ignores unknown ids. Returns `outstanding`. */
  finish(id: number, endNs: number): number {
    const mask = this.ids.length - 1;
    for (let i = 0; i < this.length; i++) {
      const at = (this.head + i) & mask;
      if (this.ids[at] !== id) continue;
      this.totalNs -= this.sizes[at];
      this.beginNs = endNs;
      this.remove(i);
      break;
    }
    return this.outstanding;
  }

  /** Closes the gap from the front, which moves nothing as long as results come in order. */
  private remove(index: number): void {
    const mask = this.ids.length - 1;
    for (let i = index; i > 0; i--) {
      const to = (this.head + i) & mask;
      const from = (this.head + i - 1) & mask;
      this.ids[to] = this.ids[from];
      this.sizes[to] = this.sizes[from];
    }
    this.head = (this.head + 1) & mask;
    this.length--;
  }

  private grow(): void {
    this.ids = doubled(this.ids, this.head);
    this.sizes = doubled(this.sizes, this.head);
    this.head = 0;
  }
}
