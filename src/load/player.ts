import { Clock } from '../base/clock/clock.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { RunObserver } from '../core/observer.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  type Outcome,
  REQUEST_FREE,
  RequestTable,
} from '../core/request.js';
import { Histogram } from '../record/histogram.js';
import type { AnswerCount, GeneratorFigures, LatenessMs, Unanswered } from '../record/results.js';
import { PreciseTimer } from './precise-timer.js';
import { AnswerCounts, type Lack, noAnswer, type Reply } from './reply.js';
import type { Done, LoadTarget } from './target.js';

/** Largest number of outstanding requests; further ones are answered `error` at once. */
const DEFAULT_MOST_OUTSTANDING = 100_000;
/** Time without any answer, beyond the longest SLO, after which outstanding requests are given up. */
const DEFAULT_PATIENCE_NS = 30 * NS_PER_S;
/** Late requests sent per turn of the event loop, so that answers are read in between. */
const BURST = 64;
const LOOK_MS = 250;
/** A client does not know which GPUs hold a model. */
const UNKNOWN_COPIES = -1;

const NOT_SENT = noAnswer('it was not sent because too many were unanswered');
const GIVEN_UP = noAnswer('no answers came for too long');
const NO_CONNECTION = noAnswer('no connection was free or could be opened for too long', 'neverSent');

export interface PlayOptions {
  readonly source: ArrivalSource;
  readonly target: LoadTarget;
  /** Called for every answer; arrival times are those intended by the source. */
  readonly observer?: RunObserver;
  /** Its zero is the start of the run; default: now. */
  readonly clock?: Clock;
  readonly mostOutstanding?: number;
  readonly patienceNs?: number;
  /** Answers to requests intended before this are not counted by status. */
  readonly warmupNs?: number;
  /** Called a few times a second with the time since the start. */
  readonly onProgress?: (nowNs: number, sofar: PlayCounts) => void;
}

/** Progress of a run, warm-up included. */
export interface PlayCounts {
  readonly sent: number;
  /** Sent but not answered yet. */
  readonly inFlight: number;
  readonly ok: number;
  readonly late: number;
  /** Neither in time nor late: refused, given up or failed. */
  readonly failed: number;
}

/** Figures of the load generator itself. */
export interface PlayReport {
  /** Number of requests from the source. */
  readonly requests: number;
  /** Delay until requests were handed to the target, ns: reveals a generator that is too slow. */
  readonly lateness: Histogram;
  /** Number of requests not sent because too many were outstanding. */
  readonly refused: number;
  readonly unanswered: Unanswered;
  /** Last error of requests never sent, and of those lost; absent if there was none. */
  readonly problems: Readonly<Partial<Record<Lack, string>>>;
  /** The server's answers by status; empty within a process. */
  readonly answers: readonly AnswerCount[];
}

/**
 * Plays a workload against a target in real time, starting now, until every request is answered. Requests are sent at
 * the source's times, regardless of earlier ones (open loop), and the source is notified of each answer, so that
 * closed-loop clients continue. Latency counts from the intended time. Rejects with errors of the source or the
 * observer.
 */
export function play(options: PlayOptions): Promise<PlayReport> {
  return new Promise((resolve, reject) => new Player(options, resolve, reject).start());
}

class Player {
  private readonly clock: Clock;
  private readonly requests = new RequestTable();
  private readonly timer: PreciseTimer;
  private readonly lateness = new Histogram();
  private readonly mostOutstanding: number;
  private readonly patienceNs: number;
  private look: NodeJS.Timeout | undefined;
  private count = 0;
  private refused = 0;
  private readonly unanswered = { neverSent: 0, lost: 0, givenUp: 0 };
  private readonly problems: Partial<Record<Lack, string>> = {};
  private ok = 0;
  private late = 0;
  private readonly answers = new AnswerCounts();
  /** Time of the last send or answer. */
  private movedNs = 0;
  private longestSloNs = 0;
  private refilling = false;
  private ended = false;

  constructor(
    private readonly options: PlayOptions,
    private readonly resolve: (report: PlayReport) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.clock = options.clock ?? new Clock();
    this.timer = new PreciseTimer(this.clock, () => this.attempt(() => this.step()));
    this.mostOutstanding = options.mostOutstanding ?? DEFAULT_MOST_OUTSTANDING;
    this.patienceNs = options.patienceNs ?? DEFAULT_PATIENCE_NS;
  }

  start(): void {
    this.look = setInterval(() => this.attempt(() => this.lookAround()), LOOK_MS);
    this.attempt(() => this.step());
  }

  /** Ends the run on errors, such as a bad line of the source or a full disk of the observer. */
  private attempt(work: () => void): void {
    try {
      if (!this.ended) work();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Sends all due requests and waits for the next. */
  private step(): void {
    const { source } = this.options;
    for (let sent = 0; ; sent++) {
      if (source.starved === true) {
        this.refill();
        return;
      }
      const nowNs = this.clock.nowNs();
      if (source.timeNs > nowNs || sent === BURST) break;
      this.sendPending(nowNs);
    }
    this.proceed();
  }

  private sendPending(nowNs: number): void {
    const { source, target } = this.options;
    const { timeNs, model, sloNs, user, requestClass = 0, tenant = 0, length = 0 } = source;
    const slot = this.requests.allocate(model, timeNs, sloNs, user, requestClass, tenant, length);
    this.requests.arrivalCopies[slot] = UNKNOWN_COPIES;
    this.count++;
    this.movedNs = nowNs;
    this.longestSloNs = Math.max(this.longestSloNs, sloNs);
    this.lateness.record(nowNs - timeNs);
    source.advance();
    if (this.requests.size > this.mostOutstanding) {
      this.refused++;
      this.answer(slot, OUTCOME_ERROR, NOT_SENT);
      return;
    }
    const id = this.requests.id[slot];
    const done: Done = (outcome, reply) => {
      // A request that was given up may be answered after its slot was reused.
      if (this.requests.id[slot] !== id || this.requests.state[slot] === REQUEST_FREE) return;
      this.attempt(() => {
        this.answer(slot, outcome, reply);
        this.proceed();
      });
    };
    target.send({ model, sloNs, user, arrivalNs: timeNs, requestClass, tenant, length }, done);
  }

  private answer(slot: number, outcome: Outcome, reply?: Reply): void {
    const { source, observer } = this.options;
    const { requests } = this;
    const nowNs = this.clock.nowNs();
    const late = outcome === OUTCOME_OK && nowNs > requests.arrivalNs[slot] + requests.sloNs[slot];
    this.movedNs = nowNs;
    if (late) this.late++;
    else if (outcome === OUTCOME_OK) this.ok++;
    const counts = requests.arrivalNs[slot] >= (this.options.warmupNs ?? 0);
    if (reply !== undefined && counts) this.answers.add(reply);
    if (reply?.lack !== undefined) {
      this.unanswered[reply.lack]++;
      this.problems[reply.lack] = reply.message;
    }
    observer?.answered(requests, slot, late ? OUTCOME_LATE : outcome, nowNs, UNKNOWN_COPIES, null);
    requests.release(slot);
    source.answered?.(requests.user[slot], nowNs);
  }

  /** Waits for the next arrival, or ends the run if none can come. */
  private proceed(): void {
    const { source } = this.options;
    if (this.refilling || this.ended) return;
    if (source.starved !== true && source.timeNs === Number.POSITIVE_INFINITY) {
      if (this.requests.size === 0) this.end();
      else this.timer.clear();
    } else if (source.timeNs < this.timer.atNs) this.timer.set(source.timeNs);
  }

  private refill(): void {
    this.refilling = true;
    const refilled = this.options.source.refill?.() ?? Promise.resolve();
    refilled.then(
      () => {
        this.refilling = false;
        this.attempt(() => this.step());
      },
      (error) => this.fail(error),
    );
  }

  private lookAround(): void {
    const nowNs = this.clock.nowNs();
    this.options.onProgress?.(nowNs, this.counts());
    const waits = this.requests.size > 0 && nowNs > this.movedNs + this.patienceNs + this.longestSloNs;
    if (!waits || this.refilling) return;
    let neverSent = this.options.target.dropUnsent?.() ?? 0;
    const { state } = this.requests;
    for (let slot = 0; slot < state.length; slot++) {
      if (state[slot] === REQUEST_FREE) continue;
      if (neverSent-- > 0) this.answer(slot, OUTCOME_ERROR, NO_CONNECTION);
      else {
        this.unanswered.givenUp++;
        this.answer(slot, OUTCOME_ERROR, GIVEN_UP);
      }
    }
    this.proceed();
  }

  private counts(): PlayCounts {
    const { count, ok, late } = this;
    const inFlight = this.requests.size;
    return { sent: count, inFlight, ok, late, failed: count - inFlight - ok - late };
  }

  private end(): void {
    const { count, lateness, refused, unanswered, problems } = this;
    this.stop();
    const answers = this.answers.list();
    this.resolve({ requests: count, lateness, refused, unanswered, problems, answers });
  }

  private fail(error: unknown): void {
    this.stop();
    this.reject(error);
  }

  private stop(): void {
    this.ended = true;
    this.timer.close();
    clearInterval(this.look);
  }
}

/**
 * Quality of request sending; `waited`: number of requests that waited for a free connection, `wakeLateness`: of the
 * timers of a controller in this process.
 */
export function generatorFigures(
  { lateness, refused }: Pick<PlayReport, 'lateness' | 'refused'>,
  waited: number,
  wakeLateness = new Histogram(),
): GeneratorFigures {
  return {
    ...(lateness.count === 0 ? {} : { sentLateMs: latenessMs(lateness) }),
    ...(wakeLateness.count === 0 ? {} : { timersLateMs: latenessMs(wakeLateness) }),
    waitedForConnection: waited,
    notSent: refused,
  };
}

function latenessMs(lateness: Histogram): LatenessMs {
  const [p50, p99, max] = [50, 99, 100].map((percent) => lateness.percentile(percent) / NS_PER_MS);
  return { p50, p99, max };
}
