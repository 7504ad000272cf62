import { NS_PER_S } from '../base/units.js';

/** Requests per second in the long run (Infinity: unlimited), and at once after a pause (at least 1). */
interface Limit {
  readonly rateRps: number;
  readonly burst: number;
}

/**
 * The rate limit of each tenant, as a token bucket: it fills with `rateRps` tokens a second up to `burst`, is full at
 * the start, and a request takes one. Within any time t a tenant gets at most `burst` + `rateRps` · t requests through.
 */
export class RateLimits {
  private readonly tokens: Float64Array;
  private readonly lastNs: Float64Array;

  constructor(private readonly tenants: readonly Limit[]) {
    this.tokens = Float64Array.from(tenants, ({ burst }) => burst);
    this.lastNs = new Float64Array(tenants.length);
  }

  /** Takes a token; false if there is none. `nowNs` never decreases. */
  take(tenant: number, nowNs: number): boolean {
    const { rateRps, burst } = this.tenants[tenant];
    if (rateRps === Number.POSITIVE_INFINITY) return true;
    const gained = ((nowNs - this.lastNs[tenant]) * rateRps) / NS_PER_S;
    this.lastNs[tenant] = nowNs;
    const tokens = Math.min(burst, this.tokens[tenant] + gained);
    const has = tokens >= 1;
    this.tokens[tenant] = has ? tokens - 1 : tokens;
    return has;
  }

  /** Time until the tenant has a token, ns, as of its last request. */
  untilNextNs(tenant: number): number {
    const { rateRps } = this.tenants[tenant];
    const lacks = 1 - this.tokens[tenant];
    return lacks <= 0 ? 0 : Math.ceil((lacks * NS_PER_S) / rateRps);
  }
}
