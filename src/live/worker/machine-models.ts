import type { ModelChange } from '../messages.js';
import type { ServedModel, WorkerModel } from '../model.js';
import type { ModelReference, ModelSource } from '../model-list.js';

/** Models of a machine by index, as they come and go. */
export class MachineModels {
  /** Null: none. */
  readonly list: (WorkerModel | null)[];
  private readonly changed = new Map<number, ModelReference | null>();
  /** By index: last change, since they are made one after the other. */
  private readonly last = new Map<number, Promise<unknown>>();

  constructor(
    models: readonly WorkerModel[],
    private readonly source: ModelSource,
    /** Throws if the machine can't run the model. */
    private readonly check: (model: WorkerModel) => void,
  ) {
    this.list = [...models];
  }

  /** Differences from the start. */
  get changes(): ModelChange[] {
    return [...this.changed].map(([index, reference]) => ({ index, reference }));
  }

  /** `apply` passes the entry of `list` at the index to the threads. */
  add(index: number, reference: ModelReference, apply: () => Promise<void>): Promise<ServedModel | null> {
    return this.next(index, async () => {
      const { name, digest, config } = reference;
      const present = this.list[index] ?? null;
      if (present !== null && isSame(this.changed.get(index), reference)) return served(present);
      await this.set(index, null, null, apply);
      const model = await this.source.open(reference);
      if (model === null) return null;
      this.check(model);
      try {
        // Resolved, if the reference left it open.
        const found = { name, version: model.version, digest: model.digest ?? digest, config };
        await this.set(index, model, found, apply);
      } catch (error) {
        this.list[index] = null;
        this.changed.set(index, null);
        throw error;
      }
      return served(model);
    });
  }

  drop(index: number, apply: () => Promise<void>): Promise<void> {
    return this.next(index, () => this.set(index, null, null, apply));
  }

  private async set(
    index: number,
    model: WorkerModel | null,
    reference: ModelReference | null,
    apply: () => Promise<void>,
  ): Promise<void> {
    while (this.list.length <= index) this.list.push(null);
    if (this.list[index] === model) return;
    this.list[index] = model;
    this.changed.set(index, reference);
    await apply();
  }

  private next<T>(index: number, change: () => Promise<T>): Promise<T> {
    const done = (this.last.get(index) ?? Promise.resolve()).then(change);
    this.last.set(
      index,
      done.catch(() => {}),
    );
    return done;
  }
}

/** False if the reference leaves the files open: they may have changed. */
function isSame(
  before: ModelReference | null | undefined,
  { name, version, digest }: ModelReference,
): boolean {
  return digest !== '' && before?.name === name && before.version === version && before.digest === digest;
}

/** The part of a model that a controller sees. */
export function served({ ortPath: _, ...model }: WorkerModel): ServedModel {
  return model;
}
