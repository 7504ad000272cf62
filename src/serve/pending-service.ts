import { NO_WORKER } from '../live/controller/served-state.js';
import type { InferenceRequest, ModelStatistics, ServiceState, WatchedService } from '../live/service.js';
import { ServiceError } from '../live/service.js';

/** What frontends have before the first worker has come: a server that is not ready. Then it stands for the service. */
export class PendingService implements WatchedService {
  private service: WatchedService | null = null;
  private readonly watchers = new Set<() => void>();

  constructor(
    /** The clock that the service will have. */
    readonly nowNs: () => number,
  ) {}

  get state(): ServiceState {
    return this.service?.state ?? NOTHING_YET;
  }

  /** The service is there. */
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

  /** No model is ready before there is a service, so none is asked for. */
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
