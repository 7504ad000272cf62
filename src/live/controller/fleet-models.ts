import type { ModelReference, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { WorkerModelList } from '../model-list.js';
import { WorkerGone } from './link/worker-gone.js';
import type { WorkerLink } from './link/worker-link.js';
import { addEverywhere, noWorker } from './model-rollout.js';
import { type AlignEvents, Roster, referenceOf } from './roster.js';

/** The models of all workers of a fleet: each has the same ones at the same indices. */
export class FleetModels {
  private readonly roster: Roster;

  /** `started`: those that the workers started with; `links`: of workers that are asked for others. */
  constructor(
    started: readonly ServedModel[],
    private readonly links: () => readonly WorkerLink[],
  ) {
    this.roster = new Roster(started);
  }

  /** What each worker could have, at all or of one model. Rejects if none can say. */
  async list(name: string | null): Promise<readonly WorkerModelList[]> {
    const links = this.links();
    const lists = await Promise.allSettled(links.map((link) => link.listModels(name)));
    const known = lists.flatMap((list, i) =>
      list.status === 'fulfilled' ? { ...list.value, worker: links[i].name } : [],
    );
    if (known.length > 0) return known;
    const failed = lists.find(({ status }) => status === 'rejected');
    const reason = failed?.status === 'rejected' ? failed.reason : new WorkerGone();
    throw reason instanceof WorkerGone ? noWorker() : reason;
  }

  /**
   * Has every worker prepare the model, also those that come up later. Resolves with the model as all of them can be
   * expected to run it; rejects with the reason where one can't: then none has it.
   */
  async add(index: number, reference: ModelReference): Promise<ServedModel> {
    this.roster.set(index, reference);
    try {
      const model = await addEverywhere(this.links(), index, reference);
      this.roster.set(index, referenceOf(model, reference), model);
      return model;
    } catch (error) {
      await this.drop(index);
      throw error;
    }
  }

  /** The model, which is not in use, is to be at no worker any more. Never rejects: a worker that is down learns it later. */
  async drop(index: number): Promise<void> {
    this.roster.delete(index);
    await Promise.allSettled(this.links().map((link) => link.dropModel(index)));
  }

  /** As `Roster`. */
  align(
    link: WorkerLink,
    description: WorkerDescription | null,
    state: WorkerState,
    events: AlignEvents,
  ): Promise<WorkerState | null> | null {
    return this.roster.align(link, description, state, events);
  }
}
