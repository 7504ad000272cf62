import type { RequestClass } from '../../../core/classes.js';
import type { Cluster } from '../../../core/cluster.js';
import type { RequestTable } from '../../../core/request.js';
import type { Tenant } from '../../../core/tenants.js';
import type { ScalingStatus } from './cluster-status.js';
import type { StatusCollector } from './status-collector.js';

/** What a status is made of. */
export interface StatusSources {
  readonly collector: StatusCollector;
  readonly core: { readonly cluster: Cluster; readonly requests: RequestTable };
  readonly policy: string;
  readonly host: string;
  readonly ready: boolean;
  /** Name of the worker that has a GPU. */
  readonly workerOf: (gpu: number) => string;
  /** Name of its kind. */
  readonly kindOf: (gpu: number) => string;
  /** As they are configured; empty: none are. */
  readonly classes: readonly RequestClass[];
  readonly tenants: readonly Tenant[];
  /** What the scaler wants; null: nothing is known. */
  readonly scaling: ScalingStatus | null;
  /** Counted from the start. */
  readonly nowNs: number;
}
