import { BitSet } from '../base/bit-set.js';
import { Calendar } from './calendar.js';
import type { LaneTimeline } from './timeline.js';

/**
 * The policy option schedule_ahead for one lane of every GPU: tracks which lanes are booked less far ahead than that,
 * and when the next one will be. An update costs only what changed, however many GPUs idle.
 */
export class Booking {
  /** GPUs whose lane may be booked now. */
  readonly open: BitSet;
  /** True if a lane has opened since this was last set to false. */
  opened = true;
  private readonly reopening: Calendar;

  constructor(
    private readonly lanes: readonly LaneTimeline[],
    private aheadNs: number,
  ) {
    this.open = new BitSet(lanes.length);
    this.reopening = new Calendar(lanes.length);
    for (let gpu = 0; gpu < lanes.length; gpu++) this.update(gpu, 0);
  }

  /** Time at which the next lane opens if no result arrives first; Infinity: never. */
  get nextOpeningNs(): number {
    return this.reopening.nextNs;
  }

  /** Changes how far into the future lanes are booked. */
  setAhead(aheadNs: number, nowNs: number): void {
    this.aheadNs = aheadNs;
    for (let gpu = 0; gpu < this.lanes.length; gpu++) this.update(gpu, nowNs);
  }

  isOpen(gpu: number): boolean {
    return this.open.has(gpu);
  }

  /** Call after a lane's timeline changed: an action was sent or has a result. */
  update(gpu: number, nowNs: number): void {
    const atNs = this.lanes[gpu].bookableAtNs(this.aheadNs);
    if (atNs <= nowNs) {
      if (this.open.add(gpu)) this.opened = true;
      this.reopening.set(gpu, Number.POSITIVE_INFINITY);
    } else {
      this.open.delete(gpu);
      this.reopening.set(gpu, atNs);
    }
  }

  /** Opens the lanes that are due. */
  advance(nowNs: number): void {
    for (let gpu = this.reopening.due(nowNs); gpu >= 0; gpu = this.reopening.due(nowNs)) {
      this.open.add(gpu);
      this.opened = true;
      this.reopening.set(gpu, Number.POSITIVE_INFINITY);
    }
  }
}
