import { DeadlineQueue } from '../common/deadline-queue.js';
import type { SessionLoad } from './packing.js';

/** Weight of an epoch's rate in the average over epochs. */
const RATE_GAIN = 0.5;
/** SLOs within 2^(1/4), a fifth, of each other share a session. */
const CLASSES_PER_OCTAVE = 4;

/** A model with an SLO: the requests that wait, and how many come. */
export class Session {
  readonly queue = new DeadlineQueue();
  /** GPUs in whose cycles it has a turn. */
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

  /** Forgets what it has seen: its model goes. */
  restart(): void {
    this.arrivals = 0;
    this.places.length = 0;
    this.ratePerNs = -1;
    this.sloNs = Number.POSITIVE_INFINITY;
  }

  /** An epoch is over. Returns what to plan for; null: it has fallen silent. */
  load(epochNs: number): SessionLoad | null {
    const measuredPerNs = this.arrivals / epochNs;
    this.arrivals = 0;
    this.ratePerNs =
      this.ratePerNs < 0 ? measuredPerNs : this.ratePerNs + RATE_GAIN * (measuredPerNs - this.ratePerNs);
    // Less than one request in ten epochs.
    if (this.ratePerNs * epochNs < 0.1) return null;
    return { session: this.index, model: this.model, sloNs: this.sloNs, ratePerNs: this.ratePerNs };
  }
}

/** All sessions, which are made as requests come. */
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

  /** Requests that wait for a model. */
  queued(model: number): number {
    let count = 0;
    for (const session of this.byModel[model]) count += session.queue.length;
    return count;
  }

  /** An epoch is over: what each session that still lives is to be planned with. */
  loads(epochNs: number): SessionLoad[] {
    return this.all.map((session) => session.load(epochNs)).filter((load) => load !== null);
  }
}
