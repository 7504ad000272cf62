import { NS_PER_S } from '../base/units.js';

/** Demand is looked at this often, and remembered for about so long. */
const PERIOD_NS = 0.1 * NS_PER_S;
const MEMORY_NS = 0.5 * NS_PER_S;
/** After so long without any request there is no overload: what was lost before says nothing of what comes. */
const PAUSE_NS = 2 * MEMORY_NS;
/** What was served in time at most is forgotten by this much a period: what can be served may become less. */
const FORGET = 0.98;
/** A tenant that loses more of its work than this, and gets less than others for its share, is to be protected. */
const TOLERATED_LOSS = 0.01;
/** While none is, limits are raised by this much a period, */
const RAISE = 0.02;
/** and after so many such periods by twice as much as in the one before: demand may have been mistaken for overload. */
const PATIENCE = 20;

interface Shared {
  readonly share: number;
}

/**
 * Fair shares under overload, whatever the policy: max-min fairness by weights, as in core-stateless fair queueing
 * (Stoica, Shenker and Zhang, SIGCOMM 1998), with losses as the sign of congestion.
 *
 * A level L says how much work per second a tenant may send for a unit of its share. The fair level is the one at which
 * all tenants together send what can be served in time: Σ min(demand, share · L) = the most that was served lately. If a tenant
 * loses work, less is served of it than min(demand, share · fair level), and another is served more for a unit of its share, L
 * falls to the fair level. Otherwise L rises until none is limited. Of
 * a tenant that asks for more than share · L, that much is let through, evenly. So a tenant that stays below its share
 * loses next to nothing, what it leaves goes to the others, and a tenant that is alone has all.
 */
export class FairShares {
  /** Infinity: none is limited. */
  private level = Number.POSITIVE_INFINITY;
  /** Work per second, ns, by tenant: what it asks for, and what is served of it in time. */
  private readonly demand: Float64Array;
  private readonly served: Float64Array;
  /** Work of this period, ns. */
  private readonly asked: Float64Array;
  private readonly ok: Float64Array;
  private readonly lost: Float64Array;
  /** Periods since one was to be protected. */
  private calm = 0;
  private raiseBy = RAISE;
  /** What a tenant that is limited has left over, in shares of a request. */
  private readonly credit: Float64Array;
  private sinceNs = 0;
  /** Of the means above, what their memory has seen so far: early on less than all. */
  private seen = 0;
  /** Work per second that can be served, ns: the most that was, lately. */
  private capacity = 0;

  constructor(private readonly tenants: readonly Shared[]) {
    const { length } = tenants;
    this.demand = new Float64Array(length);
    this.served = new Float64Array(length);
    this.asked = new Float64Array(length);
    this.ok = new Float64Array(length);
    this.lost = new Float64Array(length);
    this.credit = new Float64Array(length);
  }

  /** A request of the tenant arrives that takes so much GPU time. Whether it may go on. */
  admits(tenant: number, costNs: number, nowNs: number): boolean {
    if (nowNs >= this.sinceNs + PERIOD_NS) this.renew(nowNs);
    this.asked[tenant] += costNs;
    const most = this.tenants[tenant].share * this.level;
    if (this.demand[tenant] <= most) return true;
    const credit = this.credit[tenant] + most / this.demand[tenant];
    this.credit[tenant] = credit >= 1 ? credit - 1 : credit;
    return credit >= 1;
  }

  /** A request that went on was answered, in time or not. */
  answered(tenant: number, costNs: number, inTime: boolean): void {
    if (inTime) this.ok[tenant] += costNs;
    else this.lost[tenant] += costNs;
  }

  private renew(nowNs: number): void {
    const { tenants, demand, served, asked, ok, lost } = this;
    const passedNs = nowNs - this.sinceNs;
    this.sinceNs = nowNs;
    if (passedNs >= PAUSE_NS) this.forget();
    const fresh = 1 - Math.exp(-passedNs / MEMORY_NS);
    const perS = NS_PER_S / passedNs;
    this.seen += (1 - this.seen) * fresh;
    const part = fresh / this.seen;
    let total = 0;
    let mostServed = 0;
    for (let t = 0; t < tenants.length; t++) {
      demand[t] += (asked[t] * perS - demand[t]) * part;
      served[t] += (ok[t] * perS - served[t]) * part;
      total += served[t];
      mostServed = Math.max(mostServed, served[t] / tenants[t].share);
    }
    this.capacity = Math.max(total, this.capacity * FORGET);
    const fair = fairLevel(tenants, demand, this.capacity);
    let isUnfair = false;
    for (let t = 0; t < tenants.length; t++) {
      const due = (1 - TOLERATED_LOSS) * Math.min(demand[t], tenants[t].share * Math.min(fair, mostServed));
      if (served[t] < due && lost[t] > TOLERATED_LOSS * (ok[t] + lost[t])) isUnfair = true;
      asked[t] = 0;
      ok[t] = 0;
      lost[t] = 0;
    }
    if (isUnfair) {
      this.level = Math.min(this.level, fair);
      this.calm = 0;
      this.raiseBy = RAISE;
    } else if (this.level < Number.POSITIVE_INFINITY) this.raise();
  }

  /** None is limited. */
  private forget(): void {
    this.level = Number.POSITIVE_INFINITY;
    this.calm = 0;
    this.raiseBy = RAISE;
    for (const sums of [this.asked, this.ok, this.lost]) sums.fill(0);
  }

  private raise(): void {
    const { tenants, demand } = this;
    if (++this.calm > PATIENCE) this.raiseBy *= 2;
    this.level *= 1 + this.raiseBy;
    for (let t = 0; t < tenants.length; t++) if (demand[t] > tenants[t].share * this.level) return;
    this.level = Number.POSITIVE_INFINITY;
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
