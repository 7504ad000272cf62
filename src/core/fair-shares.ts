import { NS_PER_S } from '../base/units.js';
import type { GpuLoad } from './gpu-load.js';

/** Interval between updates of demand, and roughly how long it is remembered. */
const PERIOD_NS = 0.1 * NS_PER_S;
const MEMORY_NS = 0.5 * NS_PER_S;
/** Pause without requests after which overload is considered over: earlier losses no longer say anything. */
const PAUSE_NS = 2 * MEMORY_NS;
/** Decay per period of the measured maximum served in time, since capacity may shrink. */
const FORGET = 0.98;
/** Idle part of GPU time above which, and lost part of admitted work below which, the capacity estimate grows. */
const IDLE = 0.05;
const IDLE_LOSS = 0.1;
/** Growth factor of the capacity estimate per period. */
const GROW = 1.02;
/** Minimum part of demand admitted, as long as it is not lost. */
const LEAST_LET = 0.05;
/** Part of all tenants' work lost or refused above which, if demand is also too high, there is overload. */
const OVERLOAD_LOSS = 0.05;
/** Ratio of demand to capacity required for overload, since some policies lose a few percent at any load. */
const OVERLOAD = 1.1;
/** A tenant whose demand is within this factor of its share counts as within it. */
const TOLERANCE = 1.1;
/** Most that other tenants may send, in multiples of their shares: work beyond capacity keeps batches large. */
const MOST_EXCESS = 3;
/** Tolerance for rounding: a tenant whose demand equals the excess may send all of it. */
const ALL = 1 - 1e-9;
/** Lost part of a tenant's work above which it is to be protected. */
const TOLERATED_LOSS = 0.02;
/** Served part of its share below which a tenant above it is to be protected, too. */
const LEAST_SERVED = 0.85;
/** Factors on the excess per period while a tenant is to be protected, and otherwise. */
const FALL = 0.9;
const RISE = 1.02;

/** Standing of a request: its tenant is within its share; above it; above it, and the request must be refused. */
export const WITHIN_SHARE = 0;
const ABOVE_SHARE = 1;
export const BEYOND_SHARE = 2;
type Standing = 0 | 1 | 2;

interface Shared {
  readonly share: number;
}

/**
 * Fair shares under overload: max-min fairness by weights, as in core-stateless fair queueing (Stoica, Shenker and
 * Zhang, SIGCOMM 1998), with losses as the sign of congestion.
 *
 * A level L is the work per second that one unit of share entitles to: the level at which all tenants together send
 * what can be served in time, Σ min(demand, share · L) = the most that was served recently, or more while GPUs are
 * idle. Without overload L is infinite. A tenant whose demand is at most share · L is within its share, and none of its
 * requests are refused. Every other tenant may send e · share · L, evenly spaced; the excess e is common to all of
 * them, so they are served in proportion to their shares. Holding them to their exact shares, e = 1, would keep queues
 * short and so batches small: less would be served, L would fall, and even less could be sent. So e is as large as
 * possible: at most 3, and no more than the smallest demand among those tenants in multiples of its share. Only under a
 * policy that does not serve requests within shares first does e fall while a tenant within its share loses work.
 */
export class FairShares {
  /** Level L; Infinity: all demand is served. */
  private level = Number.POSITIVE_INFINITY;
  /** Excess that tenants above their shares may send, in multiples of their shares; and its current upper limit. */
  private excess = MOST_EXCESS;
  private mostExcess = MOST_EXCESS;
  /** By tenant, work per second, ns: demand; the part served in time; the part lost. */
  private readonly demand: Float64Array;
  private readonly served: Float64Array;
  private readonly missed: Float64Array;
  /** Work of the current period, ns. */
  private readonly asked: Float64Array;
  private readonly ok: Float64Array;
  private readonly lost: Float64Array;
  /** By limited tenant: unused allowance, as a fraction of a request. */
  private readonly credit: Float64Array;
  private sinceNs = 0;
  /** Weight of observations in the means above: below 1 early on. */
  private seen = 0;
  /** Capacity estimate: the most work per second served in time recently, ns. */
  private capacity = 0;
  /** Admitted work of this period that was not served in time, ns; and its rate per second. */
  private failing = 0;
  private failed = 0;

  /** `load`: load of the tenants' GPUs; `goFirst`: the policy serves requests within shares first. */
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

  /** Returns the standing of an arriving request that costs this much GPU time, which may say to refuse it. */
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

  /** Records the answer to an admitted request. */
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
    // Refusals made here must not sustain an overload on their own, which could last for ever if nothing is served.
    const leastLet = LEAST_LET * allAsked;
    const letOn = Math.max(allServed + this.failed, leastLet);
    const hasRoom = this.load.idle > IDLE && this.failed <= IDLE_LOSS * letOn;
    if (this.level === Number.POSITIVE_INFINITY || (!hasRoom && this.failed > OVERLOAD_LOSS * letOn))
      this.capacity = Math.max(allServed, this.capacity * FORGET);
    else this.capacity = Math.max(allServed, this.capacity * (hasRoom ? GROW : 1), leastLet);
    // What is lost while no GPU is in use is not lost for want of GPU time.
    const isOverload =
      this.load.idle < 1 &&
      allMissed > OVERLOAD_LOSS * (allServed + allMissed) &&
      allAsked > OVERLOAD * this.capacity &&
      (this.level < Number.POSITIVE_INFINITY || !hasRoom);
    this.level = isOverload ? fairLevel(tenants, demand, this.capacity) : Number.POSITIVE_INFINITY;
    const excess = this.mostExcess * (this.isUnfair() ? FALL : RISE);
    this.mostExcess = Math.max(1, Math.min(MOST_EXCESS, excess));
    this.excess = this.commonExcess();
  }

  /**
   * Common excess: no tenant may send a greater multiple of its share than the one with the smallest demand above its
   * own; otherwise service would not follow the shares.
   */
  private commonExcess(): number {
    const { tenants, demand, level } = this;
    let excess = this.mostExcess;
    for (let t = 0; t < tenants.length; t++) {
      const asked = demand[t] / (tenants[t].share * level);
      if (asked > TOLERANCE) excess = Math.min(excess, asked);
    }
    return excess;
  }

  /** True if a tenant is to be protected while another gets more service per unit of share. */
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

  /** Resets to no overload: no tenant is limited. */
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

/** Level L at which Σ min(demand, share · L) = total; Infinity if total demand is less than that. */
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
