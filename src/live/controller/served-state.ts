import type { ServedModel } from '../model.js';
import { type ModelEntry, ServiceError, type ServiceState } from '../service.js';

export const NO_WORKER = 'no worker is up';

/** What a controller says of itself and its models. */
export class ServedState {
  current: ServiceState;
  private readonly loaded: boolean[];
  private readonly watchers = new Set<() => void>();

  constructor(
    private readonly models: readonly ServedModel[],
    private notReady: string | null,
  ) {
    this.loaded = models.map(() => true);
    this.current = this.build();
  }

  setNotReady(notReady: string | null): void {
    if (notReady === this.notReady) return;
    this.notReady = notReady;
    this.replace();
  }

  /** Throws `ServiceError` if there is no such model. */
  setLoaded(name: string, loaded: boolean): void {
    const index = this.models.findIndex(({ spec }) => spec.name === name);
    if (index < 0) throw new ServiceError('unknown', `unknown model ${JSON.stringify(name)}`);
    if (this.loaded[index] === loaded) return;
    this.loaded[index] = loaded;
    this.replace();
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  private replace(): void {
    this.current = this.build();
    for (const changed of this.watchers) changed();
  }

  private build(): ServiceState {
    const { models, notReady } = this;
    return { notReady, entries: models.map((model, index) => this.entry(model, index)) };
  }

  private entry(model: ServedModel, index: number): ModelEntry {
    const { spec, version } = model;
    const same = { name: spec.name, version, isDefault: true, model };
    return this.loaded[index]
      ? { ...same, state: 'ready', reason: '', index }
      : { ...same, state: 'unavailable', reason: 'unloaded', index: -1 };
  }
}
