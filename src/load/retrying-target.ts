import { NS_PER_MS } from '../base/units.js';
import type { Done, LoadRequest, LoadTarget } from './target.js';

/** Pause before the first retry; it doubles up to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** Statuses that ask a client to retry: the server is not ready, or another one serves. */
const COME_BACK = new Set(['HTTP 503', 'gRPC UNAVAILABLE']);

/**
 * Retries a request, as long as its SLO allows, if it had no answer or one that asks for a retry. An inference has no
 * side effects, so it may be executed twice; only its last answer counts.
 */
export function retrying(target: LoadTarget): LoadTarget {
  const pausing = new Set<NodeJS.Timeout>();
  const retries = { requests: 0, attempts: 0 };
  const attempt = (request: LoadRequest, done: Done, untilMs: number, pauseMs: number): void =>
    target.send(request, (outcome, reply) => {
      const asks = reply !== undefined && (reply.lack !== undefined || COME_BACK.has(reply.status));
      if (!asks || performance.now() + pauseMs >= untilMs) return done(outcome, reply);
      if (pauseMs === FIRST_PAUSE_MS) retries.requests++;
      retries.attempts++;
      const timer = setTimeout(() => {
        pausing.delete(timer);
        attempt(request, done, untilMs, Math.min(LONGEST_PAUSE_MS, 2 * pauseMs));
      }, pauseMs);
      pausing.add(timer);
    });
  const dropPausing = (): number => {
    const { size } = pausing;
    for (const timer of pausing) clearTimeout(timer);
    pausing.clear();
    return size;
  };
  return {
    name: target.name,
    retries,
    get waited() {
      return target.waited;
    },
    send: (request, done) =>
      attempt(request, done, performance.now() + request.sloNs / NS_PER_MS, FIRST_PAUSE_MS),
    dropUnsent: () => dropPausing() + (target.dropUnsent?.() ?? 0),
    close: () => {
      dropPausing();
      target.close();
    },
  };
}
