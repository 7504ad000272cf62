import type { Clock } from '../../base/clock/clock.js';
import type { Admission } from '../../core/admission.js';
import type { RequestClass } from '../../core/classes.js';
import type { RunObserver } from '../../core/observer.js';
import type { Policy, PolicyContext } from '../../core/policy.js';
import type { MissedWindow } from '../../core/retry.js';
import type { Tenant } from '../../core/tenants.js';
import type { JournalWriter } from '../journal/journal-writer.js';
import type { WorkerCluster } from './cluster-of-workers.js';
import type { Fleet } from './fleet.js';
import type { LiveEvents } from './live-events.js';

export interface LiveControllerOptions {
  /** Already assembled, as `cluster`. */
  readonly fleet: Fleet;
  readonly cluster: WorkerCluster;
  readonly clock: Clock;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly defaultSloNs: number;
  readonly admission: Admission;
  /** Request classes. Default: all requests weigh the same. */
  readonly classes?: readonly RequestClass[];
  /** Tenants and their limits. Default: anyone may send any number. */
  readonly tenants?: readonly Tenant[];
  /** Default: retry. */
  readonly missedWindow?: MissedWindow;
  readonly observer: RunObserver;
  readonly events: LiveEvents;
  readonly journal: CoreInputs | null;
  /** Time that a result may be overdue before its worker is given up. */
  readonly hangNs: number;
}

/** All inputs of the core, in order, as needed by a journal. */
export type CoreInputs = Omit<JournalWriter, 'path' | 'flush' | 'discard' | 'close'>;
