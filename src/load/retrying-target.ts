import { NS_PER_MS } from '../base/units.js';
import type { RetryFigures } from '../record/results.js';
import type { Reply } from './reply.js';
import type { Done, LoadRequest, LoadTarget } from './target.js';

/** Pause before the first retry; it doubles up to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** Statuses that ask a client to retry: the server is not ready, or another one serves. */
const COME_BACK = new Set(['HTTP 503', 'gRPC UNAVAILABLE']);

interface Attempt {
  readonly request: LoadRequest;
  readonly done: Done;
  /** End of its SLO, by `performance.now`. */
  readonly untilMs: number;
  readonly pauseMs: number;
}

/**
 * Retries a request, as long as its SLO allows, if it had no answer or one that asks for a retry. An inference has no
 * side effects, so it may be executed twice; only its last answer counts.
 */
export class RetryingTarget implements LoadTarget {
  private readonly pausing = new Set<NodeJS.Timeout>();
  private requests = 0;
  private attempts = 0;

  constructor(private readonly target: LoadTarget) {}

  get name(): string {
    return this.target.name;
  }

  get assumed(): readonly string[] {
    return this.target.assumed ?? [];
  }

  get waited(): number {
    return this.target.waited;
  }

  get retries(): RetryFigures {
    return { requests: this.requests, attempts: this.attempts };
  }

  send(request: LoadRequest, done: Done): void {
    const untilMs = performance.now() + request.sloNs / NS_PER_MS;
    this.attempt({ request, done, untilMs, pauseMs: FIRST_PAUSE_MS });
  }

  dropUnsent(): number {
    const pausing = this.pausing.size;
    this.forgetPausing();
    return pausing + (this.target.dropUnsent?.() ?? 0);
  }

  close(): void {
    this.forgetPausing();
    this.target.close();
  }

  private attempt(attempt: Attempt): void {
    this.target.send(attempt.request, (outcome, reply) => {
      if (!this.comesBack(attempt, reply)) attempt.done(outcome, reply);
    });
  }

  /** True if the request is retried. */
  private comesBack(attempt: Attempt, reply?: Reply): boolean {
    const { untilMs, pauseMs } = attempt;
    const asks = reply !== undefined && (reply.lack !== undefined || COME_BACK.has(reply.status));
    if (!asks || performance.now() + pauseMs >= untilMs) return false;
    if (pauseMs === FIRST_PAUSE_MS) this.requests++;
    this.attempts++;
    const timer = setTimeout(() => {
      this.pausing.delete(timer);
      this.attempt({ ...attempt, pauseMs: Math.min(LONGEST_PAUSE_MS, 2 * pauseMs) });
    }, pauseMs);
    this.pausing.add(timer);
    return true;
  }

  private forgetPausing(): void {
    for (const timer of this.pausing) clearTimeout(timer);
    this.pausing.clear();
  }
}
