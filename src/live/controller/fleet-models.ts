import type { Time } from '../../base/world/time.js';
import type { ModelChange, ModelReference, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { WorkerModelList } from '../model-list.js';
import { WorkerGone, type WorkerLink } from './link/worker-link.js';
import { type AlignEvents, ModelIndexTable, referenceOf } from './model-index-table.js';
import { addEverywhere, type LinkOfKind, NoWorker } from './model-rollout.js';
import { onKinds } from './models-by-kind.js';

/** Models of all workers of a fleet: each has the same ones at the same indices. */
export class FleetModels {
  private readonly table: ModelIndexTable;
  /** True until something was added: models that workers have from an earlier controller may stay. */
  private isNew = true;
  private adopting: Promise<void> | null = null;

  /**
   * `started`: initial models of the workers; `links`: to workers asked for others; `kinds`: number of kinds of GPUs.
   */
  constructor(
    started: readonly ServedModel[],
    private readonly links: () => readonly LinkOfKind[],
    private readonly kinds: number,
    time: Time,
  ) {
    this.table = new ModelIndexTable(started, time);
  }

  /** Models that each worker could have, or one of them. Rejects if none can answer, with `NoWorker` if none is up. */
  async list(name: string | null): Promise<readonly WorkerModelList[]> {
    const links = this.links();
    const lists = await Promise.allSettled(links.map(({ link }) => link.listModels(name)));
    const known = lists.flatMap((list, i) =>
      list.status === 'fulfilled' ? { ...list.value, worker: links[i].link.name } : [],
    );
    if (known.length > 0) return known;
    const failed = lists.find(({ status }) => status === 'rejected');
    const reason = failed?.status === 'rejected' ? failed.reason : new WorkerGone();
    throw reason instanceof WorkerGone ? new NoWorker() : reason;
  }

  /**
   * Has every worker prepare the model, including those that come up later. Resolves with the model as all of them can
   * be expected to run it; rejects with the reason if one can't: then none has it.
   */
  async add(index: number, reference: ModelReference): Promise<ServedModel> {
    this.isNew = false;
    this.table.set(index, reference);
    try {
      const model = await addEverywhere(this.links(), this.kinds, index, reference);
      this.table.set(index, referenceOf(model, reference), model);
      return model;
    } catch (error) {
      await this.drop(index);
      throw error;
    }
  }

  /** Removes the model, which is not in use, from all workers. Never rejects: a worker that is down learns it later. */
  async drop(index: number): Promise<void> {
    this.table.delete(index);
    await Promise.allSettled(this.links().map(({ link }) => link.dropModel(index)));
  }

  /**
   * Keeps the models that a worker has from an earlier controller, so that they need not be loaded again; `found`
   * returns whether there is room. Never rejects; null: nothing to wait for.
   */
  adopt(
    from: LinkOfKind,
    changes: readonly ModelChange[],
    found: (index: number, model: ServedModel) => boolean,
  ): Promise<void> | null {
    const foreign = changes.filter(({ index }) => !this.table.has(index));
    if (!this.isNew || (foreign.length === 0 && this.adopting === null)) return null;
    const before = this.adopting ?? Promise.resolve();
    const adopting = before.then(async () => {
      for (const { index, reference } of foreign)
        if (reference !== null) await this.adoptOne(from, index, reference, found).catch(() => {});
      if (this.adopting === adopting) this.adopting = null;
    });
    this.adopting = adopting;
    return adopting;
  }

  /** On failure, the worker is aligned with the others. */
  private async adoptOne(
    { link, kind }: LinkOfKind,
    index: number,
    reference: ModelReference,
    found: (index: number, model: ServedModel) => boolean,
  ): Promise<void> {
    // Without a digest it is not known which files it has.
    if (reference.digest === '' || this.table.has(index)) return;
    const model = onKinds([{ kind, model: await link.addModel(index, reference) }], this.kinds);
    if (found(index, model)) this.table.set(index, referenceOf(model, reference), model);
  }

  /** Like `ModelIndexTable`. */
  align(
    link: WorkerLink,
    description: WorkerDescription | null,
    state: WorkerState,
    events: AlignEvents,
  ): Promise<WorkerState | null> | null {
    return this.table.align(link, description, state, events);
  }
}
