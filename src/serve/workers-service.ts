import { EscapementError } from '../base/errors.js';
import type { LiveController } from '../live/controller/live-controller.js';
import {
  type InferenceRequest,
  type ModelEntry,
  type ModelStatistics,
  ServiceError,
  type ServiceState,
  type WatchedService,
} from '../live/service.js';
import type { DeploymentEvents } from './deployment-options.js';
import { NOT_IN_REPOSITORY } from './repository-source.js';

/** A service whose models are those that its workers see: they are asked what there is when a client loads one. */
export class WorkersService implements WatchedService {
  state: ServiceState;
  /** By name, what was unloaded: people look for it in the index. */
  private readonly unloaded = new Map<string, readonly ModelEntry[]>();
  private readonly watchers = new Set<() => void>();
  private readonly unwatch: () => void;
  /** One change after the other. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly controller: LiveController,
    private readonly events: DeploymentEvents,
  ) {
    this.state = this.build();
    this.unwatch = controller.watch(() => this.replace());
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  nowNs(): number {
    return this.controller.nowNs();
  }

  infer(request: InferenceRequest): void {
    this.controller.infer(request);
  }

  load(name: string): Promise<void> {
    return this.inTurn(() => this.bring(name));
  }

  unload(name: string): Promise<void> {
    return this.inTurn(async () => {
      const entries = this.entriesOf(name);
      if (entries.length === 0) {
        if (this.unloaded.has(name)) return;
        throw new ServiceError('unknown', `unknown model ${JSON.stringify(name)}`);
      }
      this.unloaded.set(
        name,
        entries.map((entry) => ({ ...entry, state: 'unavailable', reason: 'unloaded', index: -1 })),
      );
      await Promise.all(entries.map(({ index }) => this.controller.retireModel(index)));
      this.events.info({ model: name }, 'unloaded');
    });
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.controller.statistics();
  }

  close(): void {
    this.unwatch();
  }

  private async bring(name: string): Promise<void> {
    const before = this.entriesOf(name);
    const index = await this.add(name, before.length > 0);
    const { version = '', digest } = this.controller.modelAt(index) ?? {};
    const same = before.find(
      ({ model }) => digest !== undefined && model?.version === version && model.digest === digest,
    );
    if (same !== undefined) {
      await this.controller.retireModel(index, same.index);
      return;
    }
    this.unloaded.delete(name);
    this.replace();
    this.events.info({ model: name, version }, 'model is ready');
    // Of several versions only that one is replaced; one that was served alone gives way to a higher one.
    const replaced = before.filter((entry) => before.length === 1 || entry.version === version);
    for (const { index: old } of replaced) this.retireLater(old, index);
  }

  private async add(name: string, isServed: boolean): Promise<number> {
    try {
      return await this.controller.addModel({ name, version: '', digest: '' });
    } catch (error) {
      const { message } = error as Error;
      const why = error instanceof EscapementError ? error.what : message;
      this.events.warn({ model: name, error: message }, 'model cannot be loaded');
      if (!isServed && why.includes(NOT_IN_REPOSITORY)) {
        throw new ServiceError('unknown', `unknown model ${JSON.stringify(name)}: ${why}`);
      }
      const rest = isServed ? '; what was loaded before goes on being served' : '';
      throw new ServiceError('failed', `model ${JSON.stringify(name)} cannot be loaded: ${why}${rest}`);
    }
  }

  private retireLater(index: number, successor: number): void {
    this.controller
      .retireModel(index, successor)
      .catch(({ message }: Error) => this.events.warn({ error: message }, 'a model cannot be retired'));
  }

  private entriesOf(name: string): readonly ModelEntry[] {
    return this.controller.state.entries.filter((entry) => entry.name === name);
  }

  private replace(): void {
    this.state = this.build();
    for (const changed of this.watchers) changed();
  }

  private build(): ServiceState {
    const { state } = this.controller;
    const gone = [...this.unloaded.values()].flat();
    const isServed = new Set(state.entries.map(({ name }) => name));
    const missing = gone.filter(({ name }) => !isServed.has(name));
    return missing.length === 0 ? state : { ...state, entries: [...state.entries, ...missing] };
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => {});
    return result;
  }
}
