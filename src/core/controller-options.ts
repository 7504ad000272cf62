import type { Admission } from './admission.js';
import type { RequestClass } from './classes.js';
import type { ClusterSpec } from './cluster-spec.js';
import type { ControllerPort } from './controller-port.js';
import type { RunObserver } from './observer.js';
import type { Policy, PolicyContext } from './policy.js';
import type { MissedWindow } from './retry.js';
import type { Tenant } from './tenants.js';

export interface ControllerOptions {
  readonly cluster: ClusterSpec;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly port: ControllerPort;
  readonly observer?: RunObserver;
  /** `predict`: what `predictLatencyNs` says can't be in time is refused on arrival, whatever the policy. Default: none. */
  readonly admission?: Admission;
  /**
   * `retry`: requests of an INFER that missed its window are queued again while they have time, and windows get longer
   * by what was missed; `fail`: they are answered `error`. Default: as the policy does it, `Policy.takesBack`.
   */
  readonly missedWindow?: MissedWindow;
  /** What requests weigh. Default: all alike. */
  readonly classes?: readonly RequestClass[];
  /** Who sends them, and how much they may. Default: anyone, any number. */
  readonly tenants?: readonly Tenant[] | undefined;
}
