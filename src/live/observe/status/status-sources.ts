import type { RequestClass } from '../../../core/classes.js';
import type { Cluster } from '../../../core/cluster.js';
import type { RequestTable } from '../../../core/request.js';
import type { Tenant } from '../../../core/tenants.js';
import type { ScalingStatus } from './cluster-status.js';
import type { StatusCollector } from './status-collector.js';

/** Inputs of a status. */
export interface StatusSources {
  readonly collector: StatusCollector;
  readonly core: { readonly cluster: Cluster; readonly requests: RequestTable };
  readonly policy: string;
  readonly host: string;
  readonly ready: boolean;
  /** Name of a GPU's worker. */
  readonly workerOf: (gpu: number) => string;
  /** Name of a GPU's kind. */
  readonly kindOf: (gpu: number) => string;
  /** As configured; empty: none. */
  readonly classes: readonly RequestClass[];
  readonly tenants: readonly Tenant[];
  /** Latest decision of the scaler; null: none. */
  readonly scaling: ScalingStatus | null;
  /** Since the start. */
  readonly nowNs: number;
}
