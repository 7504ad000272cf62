import type { Action } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import { type ModelSpec, NO_MODEL } from '../../core/model.js';
import type { ModelReference } from '../messages.js';
import type { ServedModel } from '../model.js';
import { ServiceError } from '../service.js';
import type { CoreInputs } from './core-inputs.js';
import type { Fleet } from './fleet.js';
import type { LiveEvents } from './live-events.js';
import { LoadTimes } from './load-times.js';
import type { ServedState } from './served-state.js';

interface LiveModelsOptions {
  readonly fleet: Fleet;
  readonly journal: CoreInputs | null;
  readonly events: LiveEvents;
  readonly state: ServedState;
  /** Those of the cluster by slot, which observers look at, too. */
  readonly specs: readonly ModelSpec[];
  /** The core has something to take in. */
  readonly changed: () => void;
}

/** The models of a live controller by index, as they come and go. */
export class LiveModels {
  /** Indices that no model is at, the one that has been free for longest first: a request may name a model that went. */
  private readonly free: number[] = [];
  private readonly leaving = new Map<number, () => void>();
  private readonly loadTimes = new LoadTimes();

  constructor(
    /** Null: none is there, or it has not come yet. This keeps it up to date. */
    private readonly list: (ServedModel | null)[],
    private readonly core: Controller,
    private readonly options: LiveModelsOptions,
  ) {
    const slots = core.cluster.models.length;
    while (list.length < slots) this.free.push(list.push(null) - 1);
  }

  async add(reference: ModelReference): Promise<number> {
    const { fleet } = this.options;
    const index = this.takeIndex();
    try {
      const model = await fleet.models.add(index, reference);
      this.put(index, this.loadTimes.expected(model));
      return index;
    } catch (error) {
      this.free.push(index);
      throw error;
    }
  }

  /** A worker has the model at this index already. Returns whether it can be served from there. */
  adopt(index: number, model: ServedModel): boolean {
    const at = this.free.indexOf(index);
    if (at < 0) return false;
    try {
      this.core.putModel(index, model.spec);
    } catch {
      return false;
    }
    this.free.splice(at, 1);
    this.came(index, model);
    return true;
  }

  /** A LOAD of it went well. */
  loaded({ model: index, gpu }: Action, durationNs: number): void {
    const model = this.list[index];
    if (model !== null) this.loadTimes.record(model, this.core.cluster.kindOf[gpu], durationNs);
  }

  async retire(index: number): Promise<void> {
    const { journal, state, fleet, changed } = this.options;
    this.core.retireModel(index);
    journal?.retireModel(index);
    state.delete(index);
    const gone = new Promise<void>((resolve) => this.leaving.set(index, resolve));
    changed();
    await gone;
    await fleet.models.drop(index);
    this.free.push(index);
  }

  /** The core has let go of the model. */
  gone(index: number): void {
    this.list[index] = null;
    this.options.events.modelGone(index);
    this.leaving.get(index)?.();
    this.leaving.delete(index);
  }

  /** Every worker has the model: the core gets it, or none has it any more. */
  private put(index: number, model: ServedModel): void {
    try {
      this.core.putModel(index, model.spec);
    } catch (error) {
      void this.options.fleet.models.drop(index);
      throw error;
    }
    this.came(index, model);
  }

  private came(index: number, model: ServedModel): void {
    const { journal, events, state, specs, changed } = this.options;
    journal?.putModel(index, model.spec);
    this.list[index] = model;
    while (specs.length < index) (specs as ModelSpec[]).push(NO_MODEL);
    (specs as ModelSpec[])[index] = model.spec;
    events.modelCame(index, model);
    state.set(index, model);
    changed();
  }

  private takeIndex(): number {
    const index = this.free.shift();
    if (index !== undefined) return index;
    throw new ServiceError(
      'failed',
      `all ${this.list.length} places for models and versions are taken: unload some first, or serve some from another server`,
    );
  }
}
