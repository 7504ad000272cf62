import type { Action } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import { type ModelSpec, NO_MODEL } from '../../core/model.js';
import type { ServedModel } from '../model.js';
import type { ModelReference } from '../model-list.js';
import type { Fleet } from './fleet.js';
import type { CoreInputs } from './live-controller-options.js';
import type { LiveEvents } from './live-events.js';
import type { ServedState } from './served-state.js';

interface LiveModelsOptions {
  readonly fleet: Fleet;
  readonly journal: CoreInputs | null;
  readonly events: LiveEvents;
  readonly state: ServedState;
  /** Models of the cluster by slot, also read by observers. */
  readonly specs: readonly ModelSpec[];
  /** Called when there is new input for the core. */
  readonly changed: () => void;
}

/** Models of a live controller by index, as they come and go. */
export class LiveModels {
  /** Free indices, longest free first: a request may name a model that left. */
  private readonly free: number[] = [];
  private readonly leaving = new Map<number, () => void>();
  private readonly loadTimes = new LoadTimes();
  /** Growth of the core's slots in progress; null: none. */
  private growing: Promise<void> | null = null;
  private grown: () => void = () => {};

  constructor(
    /** Null: none, or not added yet. Kept up to date here. */
    private readonly list: (ServedModel | null)[],
    private readonly core: Controller,
    private readonly options: LiveModelsOptions,
  ) {
    this.grew(core.cluster.models.length);
  }

  async add(reference: ModelReference): Promise<number> {
    const { fleet } = this.options;
    if (this.free.length === 0) await this.grow(2 * this.list.length);
    const index = this.free.shift();
    if (index === undefined) return this.add(reference);
    try {
      const model = await fleet.models.add(index, reference);
      this.put(index, this.loadTimes.expected(model));
      return index;
    } catch (error) {
      this.free.push(index);
      throw error;
    }
  }

  /** Adopts a model that a worker already has at this index. Returns true if it can be served from there. */
  async adopt(index: number, model: ServedModel): Promise<boolean> {
    while (index >= this.list.length) await this.grow(Math.max(2 * this.list.length, index + 1));
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

  /** Call when the core has this many slots. */
  grew(slots: number): void {
    while (this.list.length < slots) {
      const index = this.list.push(null) - 1;
      if (!this.core.isPipeline(index)) this.free.push(index);
    }
    this.growing = null;
    this.grown();
  }

  /** Call when a model is on other workers than before. */
  moved(index: number): void {
    const { fleet, journal, changed } = this.options;
    if (!this.core.isServing(index)) return;
    const gpus = fleet.models.gpusWithout(index);
    this.core.setAbsent(index, gpus);
    journal?.setAbsent(index, gpus);
    changed();
  }

  /** Records a successful LOAD. */
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

  /** Call when the core has let go of the model. */
  gone(index: number): void {
    this.list[index] = null;
    this.options.events.modelGone(index);
    this.leaving.get(index)?.();
    this.leaving.delete(index);
  }

  /** Lets the core have this many slots, or waits for an earlier growth. Throws `E_CONFIG_VALUE` for more than fit. */
  private grow(slots: number): Promise<void> {
    if (this.growing !== null) return this.growing;
    const { journal, changed } = this.options;
    this.core.grow(slots);
    journal?.grow(slots);
    this.growing = new Promise((resolve) => {
      this.grown = resolve;
    });
    changed();
    return this.growing;
  }

  /** Call when the workers have the model: passes it to the core, or removes it again. */
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
    this.options.journal?.putModel(index, model.spec);
    this.list[index] = model;
    if (this.options.fleet.models.gpusWithout(index).length > 0) this.moved(index);
    this.announce(index, model);
  }

  /** Takes requests for a model or pipeline; pipelines have the indices after the models. */
  announce(index: number, model: ServedModel): void {
    const { events, state, specs, changed } = this.options;
    while (specs.length < index) (specs as ModelSpec[]).push(NO_MODEL);
    (specs as ModelSpec[])[index] = model.spec;
    events.modelCame(index, model);
    state.set(index, model);
    changed();
  }
}

/** Number of LOADs of a version that count. */
const WINDOW = 10;
/** Number of versions remembered: more than a server has places for. */
const MOST_VERSIONS = 1024;

/**
 * LOAD times of models that come and go. The profile was measured with the file in the caches of the CPU; a model that
 * was away for a while has to be read from memory, among others, and takes many times as long.
 */
class LoadTimes {
  /** By version and kind of GPU, most recently loaded at the end. */
  private readonly measured = new Map<string, number[]>();

  record(model: ServedModel, kind: number, durationNs: number): void {
    const key = keyOf(model, kind);
    const times = this.measured.get(key) ?? [];
    this.measured.delete(key);
    this.measured.set(key, times);
    times.push(durationNs);
    if (times.length > WINDOW) times.shift();
    if (this.measured.size > MOST_VERSIONS) this.measured.delete(this.measured.keys().next().value as string);
  }

  /** Returns the model with its expected LOAD time: the median of the last ones, or that of its profile without any. */
  expected(model: ServedModel): ServedModel {
    const { spec } = model;
    const loadNs = this.medianNs(model, 0) ?? spec.loadNs;
    const otherKinds = spec.otherKinds?.map((times, i) => {
      return { ...times, loadNs: this.medianNs(model, i + 1) ?? times.loadNs };
    });
    return { ...model, spec: { ...spec, loadNs, ...(otherKinds === undefined ? {} : { otherKinds }) } };
  }

  private medianNs(model: ServedModel, kind: number): number | undefined {
    const times = this.measured.get(keyOf(model, kind));
    return times?.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  }
}

/** True for the same files and settings under the same name. */
function keyOf({ spec, version, digest = '' }: ServedModel, kind: number): string {
  return JSON.stringify([spec.name, version, digest, kind]);
}
