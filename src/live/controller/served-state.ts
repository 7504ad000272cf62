import type { ServedModel } from '../model.js';
import { DRAINING, type ModelEntry, type ServiceState, STANDS_BY } from '../service.js';
import type { Fleet } from './fleet.js';

export const NO_WORKER = 'no worker is up';
/** Error of a request while none of the GPUs in service is of a kind for it. */
export const NO_WORKER_FOR_IT = `${NO_WORKER} that can run the model in time`;

/** Service state of a controller and its models. */
export class ServedState {
  /** Null: to be built when it is read. */
  private built: ServiceState | null = null;
  /** Models that no GPU in service runs. */
  blocked: ReadonlySet<number> = new Set();
  private readonly models: Map<number, ServedModel>;
  private readonly watchers = new Set<() => void>();
  private end: 'none' | 'announced' | 'begun' = 'none';

  constructor(
    models: readonly ServedModel[],
    private notReady: string | null = NO_WORKER,
    private mayTakeOver = false,
  ) {
    this.models = new Map(models.entries());
  }

  get current(): ServiceState {
    this.built ??= this.build();
    return this.built;
  }

  /** Call when other workers are up than before, or models may run on other GPUs. */
  setWorkers(
    { gpus, isStandby, mayTakeOver }: Pick<Fleet, 'gpus' | 'isStandby' | 'mayTakeOver'>,
    isBlocked: (index: number) => boolean,
  ): void {
    const blocked = new Set([...this.models.keys()].filter(isBlocked));
    const isSame =
      blocked.size === this.blocked.size && [...blocked].every((index) => this.blocked.has(index));
    this.blocked = blocked;
    const notReady = gpus.up.size > 0 ? null : isStandby ? STANDS_BY : NO_WORKER;
    if (!this.setNotReady(notReady, mayTakeOver) && !isSame) this.replace();
  }

  /** `mayTakeOver`: the next inference makes it ready. False: that is no change. */
  setNotReady(notReady: string | null, mayTakeOver = false): boolean {
    if (notReady === this.notReady && mayTakeOver === this.mayTakeOver) return false;
    this.notReady = notReady;
    this.mayTakeOver = mayTakeOver;
    this.replace();
    return true;
  }

  /** Reports not ready from now on, and takes requests until `beginEnd`, so that load balancers can react. */
  announceEnd(): void {
    this.end = 'announced';
    this.replace();
  }

  /** Stops taking requests. */
  beginEnd(): void {
    this.end = 'begun';
    this.replace();
  }

  /** Starts taking requests for a model. */
  set(index: number, model: ServedModel): void {
    this.models.set(index, model);
    this.replace();
  }

  /** Stops taking requests for a model. */
  delete(index: number): void {
    this.models.delete(index);
    this.replace();
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  private replace(): void {
    this.built = null;
    for (const changed of this.watchers) changed();
  }

  private build(): ServiceState {
    // By name, the latest model, so that it is served while its predecessor leaves.
    const defaults = new Map([...this.models].map(([index, { spec }]) => [spec.name, index]));
    const entries = [...this.models].map(([index, model]): ModelEntry => {
      const { name } = model.spec;
      const isDefault = defaults.get(name) === index;
      const blocked = this.blocked.has(index) ? { blocked: NO_WORKER_FOR_IT } : {};
      return {
        name,
        version: model.version,
        isDefault,
        state: 'ready',
        reason: '',
        ...blocked,
        index,
        model,
      };
    });
    const { notReady, mayTakeOver, end } = this;
    if (end !== 'none')
      return { notReady: DRAINING, takesRequests: end === 'announced' && notReady === null, entries };
    return mayTakeOver ? { notReady: null, takesOver: true, entries } : { notReady, entries };
  }
}
