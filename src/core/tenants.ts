import { type Action, INFER, STATUS_OK } from './action.js';
import type { Cluster } from './cluster.js';
import { BEYOND_SHARE, FairShares, WITHIN_SHARE } from './fair-shares.js';
import { GpuLoad } from './gpu-load.js';
import { RateLimits } from './rate-limits.js';
import { OUTCOME_CANCELLED, OUTCOME_ERROR, OUTCOME_OK, type Outcome, type RequestTable } from './request.js';

/** A sender of requests, such as a team or customer. */
export interface Tenant {
  readonly name: string;
  /** Requests per second allowed in the long run; Infinity: unlimited. */
  readonly rateRps: number;
  /** Requests allowed at once after a pause, at least 1. */
  readonly burst: number;
  /** Share of the GPUs under overload, relative to other tenants; above 0. */
  readonly share: number;
}

/** Shares as fractions of 1, as they apply while all tenants ask for more. */
export function partsOf(tenants: readonly Pick<Tenant, 'share'>[]): number[] {
  const total = tenants.reduce((sum, { share }) => sum + share, 0);
  return tenants.map(({ share }) => share / total);
}

/** Limit on tenants, which bounds the state kept for them. */
export const MOST_TENANTS = 1024;

/** Reasons why a request was refused or given up, other than by its policy. */
export const LIMIT_NONE = 0;
export const LIMIT_RATE = 1;
export const LIMIT_SHARE = 2;
/** The steps of its pipeline that remain cannot be done by its deadline. */
export const LIMIT_PIPELINE = 3;

/** Limits of tenants: each within its rate, and under overload each within its fair share. */
export class Tenants {
  private readonly rates: RateLimits;
  private readonly load: GpuLoad;
  private readonly shares: FairShares | null;

  private constructor(
    tenants: readonly Tenant[],
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    sharesFirst: boolean,
  ) {
    this.rates = new RateLimits(tenants);
    this.load = new GpuLoad(cluster.gpus);
    this.shares = tenants.length > 1 ? new FairShares(tenants, this.load, sharesFirst) : null;
  }

  /** Null if there are no tenants: nothing is counted then. `sharesFirst`: see `Policy`. */
  static open(
    tenants: readonly Tenant[] | undefined,
    cluster: Cluster,
    requests: RequestTable,
    sharesFirst = false,
  ): Tenants | null {
    if (tenants === undefined || tenants.length === 0) return null;
    return new Tenants(tenants, cluster, requests, sharesFirst);
  }

  /** True if the request is admitted; otherwise `limit` and `predictedNs` of its slot say why and for how long. */
  admits(slot: number, nowNs: number): boolean {
    const { requests } = this;
    const tenant = requests.tenant[slot];
    requests.limit[slot] = LIMIT_NONE;
    requests.possible[slot] = this.isPossible(slot, nowNs) ? 1 : 0;
    if (!this.rates.take(tenant, nowNs)) {
      requests.limit[slot] = LIMIT_RATE;
      requests.predictedNs[slot] = this.rates.untilNextNs(tenant);
      return false;
    }
    if (this.shares === null) return true;
    // A request that no idle GPU could serve in time is no sign of overload.
    const costNs = requests.possible[slot] === 1 ? this.costNs(slot) : 0;
    const standing = this.shares.standing(tenant, costNs, nowNs);
    requests.isAboveShare[slot] = standing === WITHIN_SHARE ? 0 : 1;
    if (standing !== BEYOND_SHARE) return true;
    requests.limit[slot] = LIMIT_SHARE;
    return false;
  }

  /** Records the answer to a request. */
  answered(slot: number, outcome: Outcome): void {
    const { shares, requests } = this;
    if (shares === null || outcome === OUTCOME_ERROR || outcome === OUTCOME_CANCELLED) return;
    if (requests.limit[slot] !== LIMIT_NONE) return;
    if (outcome !== OUTCOME_OK && requests.possible[slot] === 0) return;
    shares.answered(requests.tenant[slot], this.costNs(slot), outcome === OUTCOME_OK);
  }

  /** Records the result of an action. */
  ended({ kind, gpu, status, beginNs, endNs }: Action): void {
    if (this.shares !== null && status === STATUS_OK)
      this.load.ran(gpu, kind === INFER || this.cluster.oneLane, endNs - beginNs);
  }

  /** GPU time of the request on its own. */
  private costNs(slot: number): number {
    const { model, bucket } = this.requests;
    return this.cluster.shortestExecNs(model[slot], bucket[slot]);
  }

  /** True if the SLO can be met, given that part of it may have passed in transit. */
  private isPossible(slot: number, nowNs: number): boolean {
    const { model, arrivalNs, sloNs } = this.requests;
    const { cluster } = this;
    const loadNs = cluster.warm.count(model[slot]) > 0 ? 0 : cluster.loadNs(model[slot]);
    return nowNs + loadNs + this.costNs(slot) <= arrivalNs[slot] + sloNs[slot];
  }
}
