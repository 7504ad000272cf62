import type { Action } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { LIMIT_RATE, LIMIT_SHARE, partsOf, type Tenant } from '../core/tenants.js';
import { type Counted, spanSeconds } from './counted.js';
import { GpuTime } from './gpu-time.js';
import { OutcomeTally } from './outcome-tally.js';
import type { TenantFigures } from './results.js';

interface TenantTallyOptions extends Counted {
  readonly tenants: readonly Tenant[];
  /** False if only answers are seen, as by a client. */
  readonly seesScheduler: boolean;
}

/** Counts outcomes of the requests of each tenant. */
export class TenantTally implements RunObserver {
  private readonly outcomes: OutcomeTally;
  private readonly gpuTime: GpuTime;
  private readonly overRate: Float64Array;
  private readonly overShare: Float64Array;

  constructor(private readonly options: TenantTallyOptions) {
    const { length } = options.tenants;
    this.outcomes = new OutcomeTally(length, spanSeconds(options));
    this.gpuTime = new GpuTime(length, options);
    this.overRate = new Float64Array(length);
    this.overShare = new Float64Array(length);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const tenant = requests.tenant[slot];
    this.gpuTime.answered(tenant, action);
    const arrivalNs = requests.arrivalNs[slot];
    if (arrivalNs < this.options.warmupNs) return;
    this.outcomes.add(tenant, outcome, nowNs - arrivalNs);
    if (requests.limit[slot] === LIMIT_RATE) this.overRate[tenant]++;
    else if (requests.limit[slot] === LIMIT_SHARE) this.overShare[tenant]++;
  }

  completed(): void {}

  /** Figures of all tenants, in order of declaration. */
  figures(): readonly TenantFigures[] {
    const { tenants, seesScheduler } = this.options;
    const parts = partsOf(tenants);
    const gpuShares = this.gpuTime.shares();
    return tenants.map(({ name }, tenant) => ({
      name,
      share: parts[tenant],
      ...this.outcomes.figures(tenant),
      gpuShare: seesScheduler ? gpuShares[tenant] : null,
      overRate: seesScheduler ? this.overRate[tenant] : null,
      overShare: seesScheduler ? this.overShare[tenant] : null,
    }));
  }
}
