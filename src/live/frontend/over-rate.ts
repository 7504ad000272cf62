import { NS_PER_MS } from '../../base/units.js';
import type { Tenant } from '../../core/tenants.js';
import { overRateText } from '../service.js';
import { Refusal } from './refusal.js';
import type { TurnedAway } from './turned-away.js';

/**
 * Tenants over their rate, as far as the scheduler's answers say. Its answer to one of their requests tells when the next may
 * come, and until then it takes none: large bodies need not be decoded to be refused.
 */
export class OverRate {
  private readonly untilNs: Float64Array;

  /** `turnedAway`: counts what is refused here. */
  constructor(
    private readonly tenants: readonly Omit<Tenant, 'share'>[],
    private readonly turnedAway: TurnedAway,
  ) {
    this.untilNs = new Float64Array(Math.max(1, tenants.length));
  }

  /** The scheduler has refused a request of the tenant. */
  note(tenant: number, { kind, predictedMs }: Refusal, nowNs: number): void {
    if (kind !== 'overLimit' || predictedMs === null || predictedMs === 0) return;
    this.untilNs[tenant] = nowNs + predictedMs * NS_PER_MS;
  }

  /** A body was not decoded within its SLO; `client`: who sent it, where no tenants are told apart. */
  notInTime(tenant: number, client: string): void {
    this.turnedAway.add('decoding', this.tenants[tenant]?.name ?? client);
  }

  /** Why a body of the tenant is not decoded at present; null: it may be. */
  refusal(tenant: number, nowNs: number): Refusal | null {
    const waitNs = this.untilNs[tenant] - nowNs;
    if (waitNs <= 0) return null;
    const its = this.tenants[tenant];
    this.turnedAway.add('rate', its.name);
    const text = `${overRateText(its, waitNs)}; until then its bodies of more than 64 KiB are refused undecoded`;
    return new Refusal('overLimit', text, waitNs / NS_PER_MS);
  }
}
