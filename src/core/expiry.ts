import { DueQueue } from './due-queue.js';
import { REQUEST_QUEUED, type RequestTable } from './request.js';

const NEVER = Number.POSITIVE_INFINITY;

/** Gives up waiting requests at their due time. */
export class Expiry {
  private readonly due = new DueQueue();
  /** Models whose waiting requests have a limit because no GPU in service can serve them. */
  private readonly stranded = new Set<number>();

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

  /** Forgets due times before `untilNs` of requests that wait no longer, up to the first that does. */
  dropAnswered(untilNs: number): void {
    this.due.dropAnswered(this.requests, untilNs);
  }

  /** Adds a waiting request; its `dueNs` is filled in. */
  add(slot: number): void {
    const { dueNs, id, model } = this.requests;
    if (dueNs[slot] < NEVER) this.due.push(dueNs[slot], slot, id[slot]);
    else if (!this.isStranded(model[slot])) this.stranded.delete(model[slot]);
    else if (this.stranded.has(model[slot])) this.limitWait(slot);
    else this.strand(model[slot]);
  }

  /** Call when a GPU may hold the model no longer. */
  modelLost(model: number): void {
    if (!this.stranded.has(model) && this.isStranded(model)) this.strand(model);
  }

  /** Call after GPUs came or left. */
  fleetChanged(): void {
    const { requests, stranded } = this;
    stranded.clear();
    requests.forWaiting(-1, (slot) => {
      const model = requests.model[slot];
      if (!stranded.has(model) && !this.isStranded(model)) return;
      stranded.add(model);
      this.limitWait(slot);
    });
  }

  /** Gives up every request that still waits at its due time. */
  advance(nowNs: number): void {
    const { due, requests } = this;
    while (due.topNs <= nowNs) {
      const slot = due.topSlot;
      const dueNs = requests.dueNs[slot];
      // A request taken back by the policy may have a later due time now.
      const isDue = dueNs === NEVER ? this.isStillStranded(requests.model[slot]) : dueNs <= nowNs;
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.id[slot] === due.topId && isDue;
      due.pop();
      if (waits) this.giveUp(slot, nowNs);
    }
  }

  private isStillStranded(model: number): boolean {
    const is = this.isStranded(model);
    if (!is) this.stranded.delete(model);
    return is;
  }

  private strand(model: number): void {
    this.stranded.add(model);
    this.requests.forWaiting(model, (slot) => this.limitWait(slot));
  }

  /** Lets a request without a due time wait for a GPU that may serve it only as long as its SLO allows. */
  private limitWait(slot: number): void {
    const { arrivalNs, sloNs, id, dueNs } = this.requests;
    if (dueNs[slot] === NEVER) this.due.push(arrivalNs[slot] + sloNs[slot], slot, id[slot]);
  }
}
