import { invariant } from '../../base/invariant.js';
import { NS_PER_US } from '../../base/units.js';
import type { Frame } from '../frame.js';
import { popularityTable } from '../popularity.js';
import { BaseSource } from '../source.js';
import type { SpecOf } from '../spec.js';

/** Minimum pause between an answer and the client's next request. */
const LEAST_PAUSE_NS = NS_PER_US;

/**
 * Clients that wait for answers: each keeps `concurrency` requests outstanding and sends the next one `thinkNs` after
 * an answer, at least 1 µs, since a request refused at once would otherwise return in the same instant for ever. `user`
 * is the client. The first requests are spread over one think time, as in a steady state; without think time all come
 * at the start.
 */
export class ClosedLoopSource extends BaseSource {
  private readonly thinkNs: number;
  private readonly endNs: number;
  private readonly modelOf: Int32Array;
  /**
   * Future requests in order of time. All think times are equal and answers come in order of time, so a ring is a
   * sorted queue; it never holds more than the requests that may be outstanding.
   */
  private readonly wakeNs: Float64Array;
  private readonly wakeUser: Int32Array;
  private head = 0;
  private waiting = 0;
  private lastWakeNs = 0;

  constructor(spec: SpecOf<'closed-loop'>, frame: Frame) {
    super(frame.sloNs, spec.clients);
    this.thinkNs = Math.max(LEAST_PAUSE_NS, spec.thinkNs);
    this.endNs = frame.endNs;
    this.modelOf = modelOfClients(spec, frame);
    const capacity = spec.clients * spec.concurrency;
    this.wakeNs = new Float64Array(capacity);
    this.wakeUser = new Int32Array(capacity);
    this.scheduleFirst(spec, frame);
    this.show();
  }

  override advance(): void {
    this.head = (this.head + 1) % this.wakeNs.length;
    this.waiting--;
    this.show();
  }

  /** `nowNs` must not decrease between calls. */
  answered(user: number, nowNs: number): void {
    this.push(user, nowNs + this.thinkNs);
    this.show();
  }

  private push(user: number, atNs: number): void {
    invariant(atNs >= this.lastWakeNs, 'answers to closed-loop clients must come in order of time');
    invariant(
      this.waiting < this.wakeNs.length,
      'a closed-loop client got more answers than it sent requests',
    );
    const slot = (this.head + this.waiting++) % this.wakeNs.length;
    this.wakeNs[slot] = atNs;
    this.wakeUser[slot] = user;
    this.lastWakeNs = atNs;
  }

  private show(): void {
    if (this.waiting === 0 || this.wakeNs[this.head] >= this.endNs) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    this.timeNs = this.wakeNs[this.head];
    this.user = this.wakeUser[this.head];
    this.model = this.modelOf[this.user];
  }

  private scheduleFirst(spec: SpecOf<'closed-loop'>, frame: Frame): void {
    const random = frame.random('arrivals');
    const first = Array.from({ length: this.wakeNs.length }, (_, request) => ({
      user: request % spec.clients,
      atNs: frame.startNs + Math.floor(random() * spec.thinkNs),
    }));
    first.sort((a, b) => a.atNs - b.atNs);
    for (const { user, atNs } of first) this.push(user, atNs);
  }
}

function modelOfClients(spec: SpecOf<'closed-loop'>, frame: Frame): Int32Array {
  const { models } = frame;
  if (spec.popularity === undefined) {
    return Int32Array.from({ length: spec.clients }, (_, client) => models[client % models.length]);
  }
  const table = popularityTable(spec.popularity, models.length);
  const random = frame.random('models');
  return Int32Array.from({ length: spec.clients }, () => models[table.pick(random())]);
}
