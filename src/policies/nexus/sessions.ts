import { DeadlineQueue } from '../common/deadline-queue.js';
import type { SessionLoad } from './packing.js';

/** Weight of an epoch's rate in the average over epochs. */
const RATE_GAIN = 0.5;
/** Session granularity: SLOs within 2^(1/4), a fifth, of each other share one. */
const CLASSES_PER_OCTAVE = 4;

/** A model with an SLO: its waiting requests and their rate. */
export class Session {
  readonly queue = new DeadlineQueue();
  /** GPUs whose cycles give it a turn. */
  readonly places: number[] = [];
  /** Requests since the last plan. */
  arrivals = 0;
  private ratePerNs = -1;

  constructor(
    readonly index: number,
    readonly model: number,
    readonly sloClass: number,
    /** The tightest SLO so far. */
    public sloNs: number,
  ) {}

  /** Resets the session of a model that leaves. */
  restart(): void {
    this.arrivals = 0;
    this.places.length = 0;
    this.ratePerNs = -1;
    this.sloNs = Number.POSITIVE_INFINITY;
  }

  /** Ends an epoch. Returns the load to plan for; null if the session is idle. */
  load(epochNs: number): SessionLoad | null {
    const measuredPerNs = this.arrivals / epochNs;
    this.arrivals = 0;
    this.ratePerNs =
      this.ratePerNs < 0 ? measuredPerNs : this.ratePerNs + RATE_GAIN * (measuredPerNs - this.ratePerNs);
    // Fewer than one request in ten epochs.
    if (this.ratePerNs * epochNs < 0.1) return null;
    return { session: this.index, model: this.model, sloNs: this.sloNs, ratePerNs: this.ratePerNs };
  }
}

/** All sessions, created as requests arrive. */
export class Sessions {
  readonly all: Session[] = [];
  private readonly byModel: readonly Session[][];

  constructor(models: number) {
    this.byModel = Array.from({ length: models }, () => []);
  }

  ofModel(model: number): readonly Session[] {
    return this.byModel[model];
  }

  /** The session of a request. */
  of(model: number, sloNs: number): Session {
    const sloClass = Math.floor(CLASSES_PER_OCTAVE * Math.log2(sloNs));
    for (const session of this.byModel[model]) {
      if (session.sloClass !== sloClass) continue;
      session.sloNs = Math.min(session.sloNs, sloNs);
      return session;
    }
    const session = new Session(this.all.length, model, sloClass, sloNs);
    this.all.push(session);
    this.byModel[model].push(session);
    return session;
  }

  /** Number of requests that wait for a model. */
  queued(model: number): number {
    let count = 0;
    for (const session of this.byModel[model]) count += session.queue.length;
    return count;
  }

  /** Ends an epoch. Returns the load of each session still active. */
  loads(epochNs: number): SessionLoad[] {
    return this.all.map((session) => session.load(epochNs)).filter((load) => load !== null);
  }
}
