import { Clock } from '../base/clock/clock.js';
import { NS_PER_S } from '../base/units.js';
import { createPolicyOf } from '../config/create-policy.js';
import type { Experiment } from '../config/experiment.js';
import type { TenantsConfig } from '../config/schema-senders.js';
import type { Admission } from '../core/admission.js';
import type { RequestClass } from '../core/classes.js';
import type { Padding } from '../core/lengths.js';
import type { RunObserver } from '../core/observer.js';
import { LIVE_MISSED_WINDOW, type MissedWindow } from '../core/retry.js';
import type { WorkerCluster } from '../live/controller/cluster-of-workers.js';
import { Fleet } from '../live/controller/fleet.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import { LiveController } from '../live/controller/live-controller.js';
import type { CoreInputs } from '../live/controller/live-controller-options.js';
import { fanOutEvents, type LiveEvents } from '../live/controller/live-events.js';
import { fanOut } from '../record/fan-out.js';

export interface ClusterSettings {
  /** One per worker. The cluster owns them: they are closed with it, and also if it cannot start. */
  readonly links: readonly WorkerLink[];
  readonly policy: Experiment['policy'];
  /** Default SLO of requests. */
  readonly sloNs: number;
  readonly admission: Admission;
  /** Request classes; absent or empty: all requests weigh the same. */
  readonly classes?: readonly RequestClass[];
  /** Tenants; absent or empty: requests have none. */
  readonly tenants?: TenantsConfig;
  /** Padding of inputs of different lengths in a batch; default: `batch`. */
  readonly padding?: Padding;
  /** Default: retry. */
  readonly missedWindow?: MissedWindow | null;
  /** Time for workers to come up. Default: 60 s. */
  readonly startTimeoutNs?: number;
  /** Number of workers with which it starts, while the others may come later. Default: all. */
  readonly minWorkers?: number;
  /**
   * Registration of further workers, with a limit on GPUs in total; workers then have unlimited time to come. Null:
   * none.
   */
  readonly joining?: { readonly maxGpus: number; begin(fleet: Fleet): void } | null;
  /** True if no models come later: pipelines then have the indices right after them. Default: false. */
  readonly hasAllModels?: boolean;
  /** Default: one that starts now. */
  readonly clock?: Clock;
  /** Time that a result may be overdue before its worker is restarted. Default: 10 s. */
  readonly hangNs?: number;
}

/** A cluster whose workers are all up, before any other event. */
export interface Assembly {
  readonly settings: ClusterSettings & { readonly missedWindow: MissedWindow };
  readonly fleet: Fleet;
  readonly cluster: WorkerCluster;
  /** Started when the workers were asked to connect. */
  readonly clock: Clock;
}

/** Follows a live system from start to end: metrics, a journal, a log. */
export interface ClusterObserver {
  /** Observes the ends of requests and actions. */
  readonly run?: RunObserver;
  readonly events?: Partial<LiveEvents>;
  /** Observes all inputs of the core. At most one observer has this. */
  readonly inputs?: CoreInputs;
  /** The controller runs. An exception here ends the start. */
  started?(controller: LiveController): void;
  /** No further requests are taken; these are being answered. */
  draining?(requests: number, upToNs: number): void;
  /** All requests but this many are answered; workers are still connected. */
  ending?(unanswered: number): Promise<void>;
  /** Everything has ended; `digest` covers all decisions. */
  ended?(digest: string): Promise<void>;
}

/** Observers by name, notified in the order of the object; null: disabled. */
type ClusterObservers = Readonly<Record<string, ClusterObserver | null>>;

const START_TIMEOUT_NS = 60 * NS_PER_S;
/** Workers that are up answer in a fraction of this; a restarted controller should not keep clients waiting. */
const GRACE_NS = 3 * NS_PER_S;
const HANG_NS = 10 * NS_PER_S;

/**
 * Assembles a live system: connects to all workers, makes one cluster of their GPUs, and runs the scheduler on it in
 * this process. `observe` creates the observers, given the cluster. Throws `E_WORKER` if a worker is missing or does
 * not match the others, and any error of `observe`.
 */
export async function startCluster<T extends ClusterObservers>(
  settings: ClusterSettings,
  observe: (assembly: Assembly) => T,
): Promise<LiveCluster<T>> {
  const { joining = null, links, clock = new Clock(), startTimeoutNs = START_TIMEOUT_NS } = settings;
  const fleet = new Fleet(links, joining?.maxGpus ?? null, clock.time);
  let cluster: LiveCluster<T> | null = null;
  try {
    joining?.begin(fleet);
    const workers = await fleet.assemble(() => clock.nowNs(), {
      timeoutNs: joining === null ? startTimeoutNs : null,
      minWorkers: settings.minWorkers ?? links.length,
      graceNs: GRACE_NS,
    });
    const missedWindow = settings.missedWindow ?? LIVE_MISSED_WINDOW;
    const spec = settings.hasAllModels === true ? { ...workers.spec, spareModels: 0 } : workers.spec;
    const assembly = {
      ...{ settings: { ...settings, missedWindow }, fleet, clock },
      cluster: { ...workers, spec },
    };
    cluster = new LiveCluster(assembly, observe(assembly));
    cluster.start();
    return cluster;
  } catch (error) {
    if (cluster === null) await fleet.close();
    else await cluster.close();
    throw error;
  }
}

/** A scheduler with its workers and observers. */
export class LiveCluster<T extends ClusterObservers = ClusterObservers> {
  readonly controller: LiveController;
  private readonly list: readonly ClusterObserver[];
  private closing: Promise<void> | null = null;

  constructor(
    readonly assembly: Assembly,
    readonly observers: T,
  ) {
    const { settings, fleet, cluster, clock } = assembly;
    this.list = Object.values(observers).filter((observer) => observer !== null);
    this.controller = new LiveController({
      fleet,
      cluster: { ...cluster, spec: { ...cluster.spec, padding: settings.padding ?? 'batch' } },
      clock,
      createPolicy: createPolicyOf(settings.policy),
      defaultSloNs: settings.sloNs,
      admission: settings.admission,
      ...(settings.classes === undefined || settings.classes.length === 0
        ? {}
        : { classes: settings.classes }),
      ...(settings.tenants === undefined ? {} : { tenants: settings.tenants.list }),
      missedWindow: settings.missedWindow,
      observer: fanOut(this.list.flatMap(({ run }) => run ?? [])),
      events: fanOutEvents(this.list.flatMap(({ events }) => events ?? [])),
      journal: this.list.find(({ inputs }) => inputs !== undefined)?.inputs ?? null,
      hangNs: settings.hangNs ?? HANG_NS,
    });
  }

  start(): void {
    for (const observer of this.list) observer.started?.(this.controller);
  }

  /**
   * Reports not ready for `noticeNs` while it still serves. Then waits up to `drainNs` for answers, and ends
   * everything; requests still unanswered get an error.
   */
  close(drainNs = 0, noticeNs = 0): Promise<void> {
    this.closing ??= this.end(drainNs, noticeNs);
    return this.closing;
  }

  private async end(drainNs: number, noticeNs: number): Promise<void> {
    const { controller, list } = this;
    await controller.drain(drainNs, noticeNs, (requests) => {
      for (const observer of list) observer.draining?.(requests, drainNs);
    });
    for (const observer of list) await observer.ending?.(controller.core.requests.size);
    await controller.close();
    for (const observer of list) await observer.ended?.(controller.core.digest);
  }
}
