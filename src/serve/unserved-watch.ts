import { NS_PER_MS } from '../base/units.js';
import type { Time, Timer } from '../base/world/time.js';
import {
  type Action,
  INFER,
  LOAD,
  STATUS_INFER_TOO_LATE,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
} from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import { OUTCOME_OK, OUTCOME_REJECTED, type Outcome, type RequestTable } from '../core/request.js';
import type { LiveEvents } from '../live/controller/live-events.js';
import type { EventLog } from '../live/observe/event-log.js';

/** Interval between looks. */
const LOOK_S = 10;
/** Minimum number of requests for a verdict. */
const LEAST_REQUESTS = 10;

interface UnservedOptions {
  readonly log: EventLog;
  readonly time: Time;
  /** Name of the model at an index. */
  readonly nameOf: (model: number) => string;
  /** True if no GPU is up, or another controller drives them: that is reported elsewhere. */
  readonly isIdle: () => boolean;
}

/**
 * Logs when no request of a model is answered in time any more, with the likely reason by its actions, and when one is
 * again. Single failures are not reported.
 */
export class UnservedWatch implements RunObserver, Pick<LiveEvents, 'modelGone'> {
  /** By model: events since the last look. */
  private recent = new Map<number, Recent>();
  private readonly unserved = new Set<number>();
  private readonly timer: Timer;

  constructor(private readonly options: UnservedOptions) {
    this.timer = options.time.every(LOOK_S * 1000, () => this.look()).unref();
  }

  answered({ model, arrivalNs, sloNs }: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    const recent = this.recentOf(model[slot]);
    if (outcome === OUTCOME_OK) {
      recent.inTime++;
      return;
    }
    recent.failed++;
    // Requests are refused as soon as the scheduler has them.
    if (outcome === OUTCOME_REJECTED && nowNs - arrivalNs[slot] > sloNs[slot] / 2) recent.onTheWay++;
  }

  completed({ kind, model, status, beginNs, latestNs }: Action): void {
    const recent = this.recentOf(model);
    if (status === STATUS_OK && kind === INFER) recent.infers++;
    else if (status === STATUS_OK && kind === LOAD) recent.loads++;
    else if (status === STATUS_INFER_TOO_LATE || status === STATUS_LOAD_TOO_LATE) {
      recent.tooLate++;
      recent.latestByNs = Math.max(recent.latestByNs, beginNs - latestNs);
    }
  }

  /** Clears the index, which may be reused. */
  modelGone(model: number): void {
    this.recent.delete(model);
    this.unserved.delete(model);
  }

  close(): void {
    this.timer.cancel();
  }

  private look(): void {
    const { recent, unserved, options } = this;
    this.recent = new Map();
    if (options.isIdle()) return;
    for (const [model, what] of recent) {
      if (what.inTime > 0 && unserved.delete(model))
        this.say('info', model, 'requests are answered in time again');
      if (what.inTime > 0 || what.failed < LEAST_REQUESTS || unserved.has(model)) continue;
      unserved.add(model);
      const line = `of ${what.failed} requests in ${LOOK_S} s none was answered in time: ${whyNone(what)}`;
      this.say('warn', model, line);
    }
  }

  private say(level: 'info' | 'warn', model: number, what: string): void {
    const name = this.options.nameOf(model);
    this.options.log.say(level, { model: name }, `model ${name}: ${what}`, name);
  }

  private recentOf(model: number): Recent {
    let recent = this.recent.get(model);
    if (recent === undefined) {
      recent = { inTime: 0, failed: 0, onTheWay: 0, infers: 0, loads: 0, tooLate: 0, latestByNs: 0 };
      this.recent.set(model, recent);
    }
    return recent;
  }
}

interface Recent {
  /** Number of requests. */
  inTime: number;
  failed: number;
  /** Failed requests for which half of their SLO or more had passed before the scheduler had them. */
  onTheWay: number;
  /** Number of successful actions. */
  infers: number;
  loads: number;
  /** Number of actions that missed their windows, and the largest miss. */
  tooLate: number;
  latestByNs: number;
}

/** Likely reason, by a model's actions, why its requests fail, with advice. */
function whyNone({ failed, onTheWay, infers, loads, tooLate, latestByNs }: Recent): string {
  const latest = (latestByNs / NS_PER_MS).toFixed(1);
  if (onTheWay > failed / 2)
    return `for ${onTheWay} of them half of their SLO and more had passed while their bodies were received and decoded: send tensors as binary data, send less at a time, or use longer SLOs`;
  if (tooLate > infers)
    return `${tooLate} actions reached their GPU after their windows, by up to ${latest} ms: look at the network to its worker, or use longer SLOs`;
  if (loads > 1 && infers <= loads)
    return `it was loaded ${loads} times for ${infers} INFERs: models that are wanted at the same time replace each other; use more memory or GPUs, or fewer models`;
  if (infers > 0) return `its ${infers} INFERs ended too late: use more GPUs, less load or longer SLOs`;
  if (loads === 0)
    return 'nothing of it was executed, and it was not loaded: its SLO allows neither, other models come first, or this machine is too busy';
  return 'it was loaded, and nothing of it was executed: its SLO leaves no time for that';
}
