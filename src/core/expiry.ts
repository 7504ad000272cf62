import { DueQueue } from './due-queue.js';
import { REQUEST_QUEUED, type RequestTable } from './request.js';

const NEVER = Number.POSITIVE_INFINITY;

/** When requests that wait are given up. */
export class Expiry {
  private readonly due = new DueQueue();
  /** No GPU is there. */
  private stranded = false;

  constructor(
    private readonly requests: RequestTable,
    private readonly giveUp: (slot: number, nowNs: number) => void,
  ) {}

  /** The due time of every request is such a time, even of one that was answered since. */
  get nextNs(): number {
    return this.due.topNs;
  }

  /** The request waits; `dueNs` is filled in. */
  add(slot: number): void {
    const dueNs = this.requests.dueNs[slot];
    if (dueNs < NEVER) this.due.push(dueNs, slot, this.requests.id[slot]);
    else if (this.stranded) this.limitWait(slot);
  }

  /** The last GPU went, or one is there again. */
  strand(stranded: boolean): void {
    if (stranded && !this.stranded) this.requests.forWaiting(-1, (slot) => this.limitWait(slot));
    this.stranded = stranded;
  }

  /** Gives up every request that still waits at its due time. */
  advance(nowNs: number): void {
    const { due, requests } = this;
    while (due.topNs <= nowNs) {
      const slot = due.topSlot;
      const dueNs = requests.dueNs[slot];
      // One that the policy took back may have got a later due time than it had.
      const isDue = dueNs === NEVER ? this.stranded : dueNs <= nowNs;
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.id[slot] === due.topId && isDue;
      due.pop();
      if (waits) this.giveUp(slot, nowNs);
    }
  }

  /** A request without due time waits for a GPU to come back as long as its SLO allows, not for ever. */
  private limitWait(slot: number): void {
    const { arrivalNs, sloNs, id, dueNs } = this.requests;
    if (dueNs[slot] === NEVER) this.due.push(arrivalNs[slot] + sloNs[slot], slot, id[slot]);
  }
}
