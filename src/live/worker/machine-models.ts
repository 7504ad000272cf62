import type { ModelChange, ModelReference } from '../messages.js';
import type { ModelSource, ServedModel, WorkerModel } from '../model.js';

/** The models of a machine by index, as they come and go. */
export class MachineModels {
  /** Null: there is none. */
  readonly list: (WorkerModel | null)[];
  private readonly changed = new Map<number, ModelReference | null>();
  /** By index: changes are made one after the other. */
  private readonly last = new Map<number, Promise<unknown>>();

  constructor(
    models: readonly WorkerModel[],
    private readonly source: ModelSource,
    /** Throws if the machine can't run the model. */
    private readonly check: (model: WorkerModel) => void,
  ) {
    this.list = [...models];
  }

  /** What is not as it was at the start. */
  get changes(): ModelChange[] {
    return [...this.changed].map(([index, reference]) => ({ index, reference }));
  }

  /** `apply`: what `list` says of the index goes to the threads. */
  add(index: number, reference: ModelReference, apply: () => Promise<void>): Promise<ServedModel> {
    return this.next(index, async () => {
      const { name, version, digest } = reference;
      const present = this.list[index] ?? null;
      if (present !== null && isSame(this.changed.get(index), reference)) return served(present);
      await this.set(index, null, null, apply);
      const model = await this.source.open(name, version, digest);
      this.check(model);
      try {
        // Which one it is, where that was left open.
        const found = { name, version: model.version, digest: model.digest ?? digest };
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

/** Not where it is left open which files it has: they may be others by now. */
function isSame(
  before: ModelReference | null | undefined,
  { name, version, digest }: ModelReference,
): boolean {
  return digest !== '' && before?.name === name && before.version === version && before.digest === digest;
}

/** What a controller gets to know. */
function served({ ortPath: _, ...model }: WorkerModel): ServedModel {
  return model;
}
