import type { Clock } from '../../base/clock/clock.js';
import type { Admission } from '../../core/admission.js';
import type { RequestClass } from '../../core/classes.js';
import type { RunObserver } from '../../core/observer.js';
import type { Policy, PolicyContext } from '../../core/policy.js';
import type { MissedWindow } from '../../core/retry.js';
import type { Tenant } from '../../core/tenants.js';
import type { WorkerCluster } from './cluster-of-workers.js';
import type { CoreInputs } from './core-inputs.js';
import type { Fleet } from './fleet.js';
import type { LiveEvents } from './live-events.js';

export interface LiveControllerOptions {
  /** Assembled already, as `cluster`. */
  readonly fleet: Fleet;
  readonly cluster: WorkerCluster;
  readonly clock: Clock;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly defaultSloNs: number;
  readonly admission: Admission;
  /** What requests weigh. Default: all alike. */
  readonly classes?: readonly RequestClass[];
  /** Who sends them, and how much they may. Default: anyone, any number. */
  readonly tenants?: readonly Tenant[];
  /** Default: retry. */
  readonly missedWindow?: MissedWindow;
  readonly observer: RunObserver;
  readonly events: LiveEvents;
  readonly journal: CoreInputs | null;
  /** A worker that owes a result for this long beyond all reason is given up. */
  readonly hangNs: number;
}
