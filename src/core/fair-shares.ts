import { NS_PER_S } from '../base/units.js';
import type { GpuLoad } from './gpu-load.js';

/** Demand is looked at this often, and remembered for about so long. */
const PERIOD_NS = 0.1 * NS_PER_S;
const MEMORY_NS = 0.5 * NS_PER_S;
/** After so long without any request there is no overload: what was lost before says nothing of what comes. */
const PAUSE_NS = 2 * MEMORY_NS;
/** What was served in time at most is forgotten by this much a period: what can be served may become less. */
const FORGET = 0.98;
/** While GPUs are idle for more of their time, and less than this is lost of what goes on, more can be served than was: */
const IDLE = 0.05;
const IDLE_LOSS = 0.1;
/** what can be served is taken to be this much more each period. */
const GROW = 1.02;
/** So much of what is asked for is let through at least, as long as that is not lost. */
const LEAST_LET = 0.05;
/** There is overload while more than this is lost or refused, of the work of all tenants, */
const OVERLOAD_LOSS = 0.05;
/** and more than this many times what can be served is asked for. Some policies lose a few percent however little that is. */
const OVERLOAD = 1.1;
/** A tenant that asks for no more than this many times its share is within it. */
const TOLERANCE = 1.1;
/** Most that other tenants may send of their shares: what is beyond what can be served keeps batches large. */
const MOST_EXCESS = 3;
/** The excess is what one of the tenants asks for: it may send all of that, however its part is rounded. */
const ALL = 1 - 1e-9;
/** A tenant is to be protected if it loses more of its work than this; one above its share, if it is served less than this of that: */
const TOLERATED_LOSS = 0.02;
const LEAST_SERVED = 0.85;
/** the excess falls by this much a period, down to none, and rises by this much while there is no such tenant. */
const FALL = 0.9;
const RISE = 1.02;

/** A request of a tenant that asks for no more than its share; of one that asks for more; and what of that is to be refused. */
export const WITHIN_SHARE = 0;
const ABOVE_SHARE = 1;
export const BEYOND_SHARE = 2;
type Standing = 0 | 1 | 2;

interface Shared {
  readonly share: number;
}

/**
 * Fair shares under overload: max-min fairness by weights, as in core-stateless fair queueing (Stoica, Shenker and Zhang,
 * SIGCOMM 1998), with losses as the sign of congestion.
 *
 * A level L says how much work per second is a tenant's share, for a unit of it: the one at which all tenants together
 * send what can be served in time, Σ min(demand, share · L) = the most that was served lately, or more while GPUs are
 * idle. Without overload it is infinite. A tenant that asks for no more than share · L is within its share, and nothing
 * of it is refused. What each other tenant may send is e · share · L, evenly, and the excess e is the same for all of
 * them, so they are served in proportion to their shares. To hold them to their shares alone, e = 1, would keep queues
 * short and so batches small: then less is served, L falls, and still less may be sent. So e is as large as it can be: at
 * most 3, and no more than the least of those tenants asks for. Only under a policy that does not let requests within
 * shares go first, e falls while a tenant within its share loses work.
 */
export class FairShares {
  /** Infinity: all that is asked for is served. */
  private level = Number.POSITIVE_INFINITY;
  /** What tenants that ask for more than their shares may send, in shares; and how much that can be at most now. */
  private excess = MOST_EXCESS;
  private mostExcess = MOST_EXCESS;
  /** Work per second, ns, by tenant: what it asks for, and what of that is served in time, and is lost. */
  private readonly demand: Float64Array;
  private readonly served: Float64Array;
  private readonly missed: Float64Array;
  /** Work of this period, ns. */
  private readonly asked: Float64Array;
  private readonly ok: Float64Array;
  private readonly lost: Float64Array;
  /** What a tenant that is limited has left over, in shares of a request. */
  private readonly credit: Float64Array;
  private sinceNs = 0;
  /** Of the means above, what their memory has seen so far: early on less than all. */
  private seen = 0;
  /** Work per second that can be served, ns: the most that was, lately. */
  private capacity = 0;
  /** Work of this period that went on and was not served in time, ns; and such work per second. */
  private failing = 0;
  private failed = 0;

  /** `load`: of the GPUs that serve them; `goFirst`: the policy serves requests within shares before others. */
  constructor(
    private readonly tenants: readonly Shared[],
    private readonly load: GpuLoad,
    private readonly goFirst = false,
  ) {
    const { length } = tenants;
    this.demand = new Float64Array(length);
    this.served = new Float64Array(length);
    this.missed = new Float64Array(length);
    this.asked = new Float64Array(length);
    this.ok = new Float64Array(length);
    this.lost = new Float64Array(length);
    this.credit = new Float64Array(length);
  }

  /** A request of the tenant arrives that takes so much GPU time. Beyond its share it is to be refused. */
  standing(tenant: number, costNs: number, nowNs: number): Standing {
    if (nowNs >= this.sinceNs + PERIOD_NS) this.renew(nowNs);
    this.asked[tenant] += costNs;
    const demand = this.demand[tenant];
    const fair = this.tenants[tenant].share * this.level;
    if (demand <= TOLERANCE * fair) return WITHIN_SHARE;
    const part = (this.excess * fair) / demand;
    const credit = this.credit[tenant] + (part > ALL ? 1 : part);
    this.credit[tenant] = credit >= 1 ? credit - 1 : credit;
    if (credit >= 1) return ABOVE_SHARE;
    this.lost[tenant] += costNs;
    return BEYOND_SHARE;
  }

  /** A request that went on was answered, in time or not. */
  answered(tenant: number, costNs: number, inTime: boolean): void {
    if (inTime) this.ok[tenant] += costNs;
    else {
      this.lost[tenant] += costNs;
      this.failing += costNs;
    }
  }

  private renew(nowNs: number): void {
    const { tenants, demand, served, missed, asked, ok, lost } = this;
    const passedNs = nowNs - this.sinceNs;
    this.sinceNs = nowNs;
    if (passedNs >= PAUSE_NS) this.forget();
    const fresh = 1 - Math.exp(-passedNs / MEMORY_NS);
    const perS = NS_PER_S / passedNs;
    this.seen += (1 - this.seen) * fresh;
    const part = fresh / this.seen;
    let allAsked = 0;
    let allServed = 0;
    let allMissed = 0;
    for (let t = 0; t < tenants.length; t++) {
      demand[t] += (asked[t] * perS - demand[t]) * part;
      served[t] += (ok[t] * perS - served[t]) * part;
      missed[t] += (lost[t] * perS - missed[t]) * part;
      allAsked += demand[t];
      allServed += served[t];
      allMissed += missed[t];
    }
    this.failed += (this.failing * perS - this.failed) * part;
    this.failing = 0;
    this.load.look(passedNs, part);
    for (const sums of [asked, ok, lost]) sums.fill(0);
    // What is refused here alone must not keep up an overload, for ever if nothing is served.
    const leastLet = LEAST_LET * allAsked;
    const letOn = Math.max(allServed + this.failed, leastLet);
    const hasRoom = this.load.idle > IDLE && this.failed <= IDLE_LOSS * letOn;
    if (this.level === Number.POSITIVE_INFINITY || (!hasRoom && this.failed > OVERLOAD_LOSS * letOn))
      this.capacity = Math.max(allServed, this.capacity * FORGET);
    else this.capacity = Math.max(allServed, this.capacity * (hasRoom ? GROW : 1), leastLet);
    const isOverload =
      allMissed > OVERLOAD_LOSS * (allServed + allMissed) &&
      allAsked > OVERLOAD * this.capacity &&
      (this.level < Number.POSITIVE_INFINITY || !hasRoom);
    this.level = isOverload ? fairLevel(tenants, demand, this.capacity) : Number.POSITIVE_INFINITY;
    const excess = this.mostExcess * (this.isUnfair() ? FALL : RISE);
    this.mostExcess = Math.max(1, Math.min(MOST_EXCESS, excess));
    this.excess = this.commonExcess();
  }

  /** No tenant may send more of its share than the one that asks for least beyond its own: else they would not get what shares say. */
  private commonExcess(): number {
    const { tenants, demand, level } = this;
    let excess = this.mostExcess;
    for (let t = 0; t < tenants.length; t++) {
      const asked = demand[t] / (tenants[t].share * level);
      if (asked > TOLERANCE) excess = Math.min(excess, asked);
    }
    return excess;
  }

  /** Whether a tenant is to be protected, while another is served more for a unit of its share. */
  private isUnfair(): boolean {
    const { tenants, demand, served, missed, level, goFirst } = this;
    let most = 0;
    for (let t = 0; t < tenants.length; t++) most = Math.max(most, served[t] / tenants[t].share);
    for (let t = 0; t < tenants.length; t++) {
      const fair = tenants[t].share * level;
      if (served[t] >= LEAST_SERVED * tenants[t].share * most) continue;
      if (demand[t] > TOLERANCE * fair) {
        if (served[t] < LEAST_SERVED * fair) return true;
      } else if (!goFirst && missed[t] > TOLERATED_LOSS * (served[t] + missed[t])) return true;
    }
    return false;
  }

  /** None is limited. */
  private forget(): void {
    this.level = Number.POSITIVE_INFINITY;
    this.mostExcess = MOST_EXCESS;
    const { demand, served, missed, asked, ok, lost } = this;
    for (const sums of [demand, served, missed, asked, ok, lost]) sums.fill(0);
    this.load.forget();
    this.failing = 0;
    this.failed = 0;
    this.seen = 0;
    this.capacity = 0;
  }
}

/** The level L at which Σ min(demand, share · L) = total; Infinity if all demand is less than that. */
export function fairLevel(tenants: readonly Shared[], demand: Float64Array, total: number): number {
  const order = [...tenants.keys()].sort(
    (a, b) => demand[a] / tenants[a].share - demand[b] / tenants[b].share,
  );
  let left = total;
  let shares = tenants.reduce((sum, { share }) => sum + share, 0);
  for (const t of order) {
    const { share } = tenants[t];
    if (demand[t] / share > left / shares) return left / shares;
    left -= demand[t];
    shares -= share;
  }
  return Number.POSITIVE_INFINITY;
}
