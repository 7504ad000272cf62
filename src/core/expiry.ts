import { DueQueue } from './due-queue.js';
import { REQUEST_QUEUED, type RequestTable } from './request.js';

const NEVER = Number.POSITIVE_INFINITY;

/** Gives up waiting requests at their due time. */
export class Expiry {
  private readonly due = new DueQueue();

  constructor(
    private readonly requests: RequestTable,
    /** True while no GPU in service holds the model or may load it. */
    private readonly isStranded: (model: number) => boolean,
    private readonly giveUp: (slot: number, nowNs: number) => void,
  ) {}

  /** Next due time of any request, even of one answered since. */
  get nextNs(): number {
    return this.due.topNs;
  }

  /** Adds a waiting request; its `dueNs` is filled in. */
  add(slot: number): void {
    const dueNs = this.requests.dueNs[slot];
    if (dueNs < NEVER) this.due.push(dueNs, slot, this.requests.id[slot]);
    else this.limitWait(slot);
  }

  /** Call when GPUs left. */
  fleetChanged(): void {
    this.requests.forWaiting(-1, (slot) => this.limitWait(slot));
  }

  /** Gives up every request that still waits at its due time. */
  advance(nowNs: number): void {
    const { due, requests } = this;
    while (due.topNs <= nowNs) {
      const slot = due.topSlot;
      const dueNs = requests.dueNs[slot];
      // A request taken back by the policy may have a later due time now.
      const isDue = dueNs === NEVER ? this.isStranded(requests.model[slot]) : dueNs <= nowNs;
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.id[slot] === due.topId && isDue;
      due.pop();
      if (waits) this.giveUp(slot, nowNs);
    }
  }

  /** Lets a request without a due time wait for a GPU that may serve it only as long as its SLO allows. */
  private limitWait(slot: number): void {
    const { arrivalNs, sloNs, id, dueNs, model } = this.requests;
    if (dueNs[slot] === NEVER && this.isStranded(model[slot]))
      this.due.push(arrivalNs[slot] + sloNs[slot], slot, id[slot]);
  }
}
