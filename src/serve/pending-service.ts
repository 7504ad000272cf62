import { NO_WORKER } from '../live/controller/served-state.js';
import type { InferenceRequest, ModelStatistics, ServiceState, WatchedService } from '../live/service.js';
import { ServiceError } from '../live/service.js';

/**
 * Stands in for the service until the first worker comes: a server that is not ready. Afterwards it delegates to the
 * service.
 */
export class PendingService implements WatchedService {
  private service: WatchedService | null = null;
  private readonly watchers = new Set<() => void>();

  constructor(
    /** Clock of the future service. */
    readonly nowNs: () => number,
  ) {}

  get state(): ServiceState {
    return this.service?.state ?? NOTHING_YET;
  }

  /** Sets the service. */
  become(service: WatchedService): void {
    this.service = service;
    const changed = () => {
      for (const each of this.watchers) each();
    };
    service.watch(changed);
    changed();
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  /** Never called without a service, since no model is ready then. */
  infer(request: InferenceRequest): void {
    this.there().infer(request);
  }

  async load(name: string): Promise<void> {
    await this.there().load(name);
  }

  async unload(name: string): Promise<void> {
    await this.there().unload(name);
  }

  async look(): Promise<void> {
    await this.service?.look();
  }

  async statistics(): Promise<readonly ModelStatistics[]> {
    return (await this.service?.statistics()) ?? [];
  }

  private there(): WatchedService {
    if (this.service === null) throw new ServiceError('notReady', `the server is not ready: ${NO_WORKER}`);
    return this.service;
  }
}

const NOTHING_YET: ServiceState = { notReady: NO_WORKER, entries: [] };
