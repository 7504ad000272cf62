import type { Admission } from './admission.js';
import type { RequestClass } from './classes.js';
import type { ClusterSpec } from './cluster-spec.js';
import type { ControllerPort } from './controller-port.js';
import type { RunObserver } from './observer.js';
import type { PipelineSpec } from './pipelines.js';
import type { Policy, PolicyContext } from './policy.js';
import type { MissedWindow } from './retry.js';
import type { Tenant } from './tenants.js';

export interface ControllerOptions {
  readonly cluster: ClusterSpec;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly port: ControllerPort;
  readonly observer?: RunObserver;
  /** `predict`: refuses requests on arrival that `predictLatencyNs` expects to be late. Default: `none`. */
  readonly admission?: Admission;
  /**
   * `retry`: requests of an INFER that missed its window are queued again while they have time, and windows are
   * extended by the amount missed; `fail`: they are answered `error`. Default: `Policy.takesBack`.
   */
  readonly missedWindow?: MissedWindow;
  /** Request classes. Default: all requests weigh the same. */
  readonly classes?: readonly RequestClass[];
  /** Tenants and their limits. Default: anyone may send any number. */
  readonly tenants?: readonly Tenant[] | undefined;
  /** Pipelines, numbered after the models of the cluster and its spare ones. Default: none. */
  readonly pipelines?: readonly PipelineSpec[];
}
