import { invariant } from '../../../base/invariant.js';
import { NS_PER_US } from '../../../base/units.js';
import type { ArrivalSource } from '../../../core/arrivals.js';
import { Turns } from '../turns.js';

interface PhasedSourceOptions {
  readonly clients: number;
  /** By model: its share of the requests. */
  readonly mix: readonly number[];
  readonly sloNs: number;
  /** By phase: requests to be served. */
  readonly phases: readonly number[];
  /** Between the last answer of a phase and the first requests of the next. */
  readonly pauseNs: number;
  /** The first request of a phase is sent; it was due at `dueNs`. */
  begin(phase: number, dueNs: number): void;
  /** The last request of a phase is answered. */
  end(phase: number, nowNs: number): void;
}

/** Between an answer and the client's next request. */
const PAUSE_NS = NS_PER_US;

/**
 * Phases of a fixed number of requests, each from clients that start together and send the next request as soon as the
 * last one was answered, until none is left. A phase starts when all requests of the one before are answered. The model
 * of a request follows from the mix alone.
 */
export class PhasedSource implements ArrivalSource {
  timeNs = Number.POSITIVE_INFINITY;
  model: number;
  readonly sloNs: number;
  user = 0;
  private readonly turns: Turns;
  private phase = -1;
  /** Requests of the phase that are not sent. */
  private left = 0;
  private outstanding = 0;
  private hasBegun = false;
  /** Clients that are to send, in order of time: a ring, for all pause equally long. */
  private readonly dueNs: Float64Array;
  private readonly dueUser: Int32Array;
  private head = 0;
  private waiting = 0;

  constructor(private readonly options: PhasedSourceOptions) {
    const { clients, mix, sloNs } = options;
    this.sloNs = sloNs;
    this.turns = new Turns(mix);
    this.model = this.turns.next();
    this.dueNs = new Float64Array(clients);
    this.dueUser = new Int32Array(clients);
    this.nextPhase(0);
  }

  advance(): void {
    if (!this.hasBegun) {
      this.hasBegun = true;
      this.options.begin(this.phase, this.timeNs);
    }
    this.head = (this.head + 1) % this.dueNs.length;
    this.waiting--;
    this.left--;
    this.outstanding++;
    this.model = this.turns.next();
    this.show();
  }

  answered(user: number, nowNs: number): void {
    this.outstanding--;
    if (this.left > 0) this.push(user, nowNs + PAUSE_NS);
    else if (this.outstanding === 0) {
      this.options.end(this.phase, nowNs);
      this.nextPhase(nowNs + this.options.pauseNs);
    }
    this.show();
  }

  /** One request of the phase is to be sent again, as it had no result. Before `answered` is called. */
  again(): void {
    this.left++;
  }

  private nextPhase(atNs: number): void {
    const { phases, clients } = this.options;
    this.phase++;
    this.left = phases[this.phase] ?? 0;
    this.hasBegun = false;
    this.waiting = 0;
    for (let user = 0; user < Math.min(clients, this.left); user++) this.push(user, atNs);
    this.show();
  }

  private push(user: number, atNs: number): void {
    invariant(this.waiting < this.dueNs.length, 'a client got more answers than it sent requests');
    const slot = (this.head + this.waiting++) % this.dueNs.length;
    this.dueNs[slot] = atNs;
    this.dueUser[slot] = user;
  }

  private show(): void {
    const none = this.left === 0 || this.waiting === 0;
    this.timeNs = none ? Number.POSITIVE_INFINITY : this.dueNs[this.head];
    this.user = this.dueUser[this.head];
  }
}
