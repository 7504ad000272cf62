import { EscapementError } from '../../base/errors.js';
import type { Time } from '../../base/world/time.js';
import type { ModelChange, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelReference, WorkerModelList } from '../model-list.js';
import { differentModel, onKinds } from './cluster-of-workers.js';
import { type FleetWorker, WorkerGone } from './fleet-worker.js';
import { LOCAL } from './link/worker-link.js';

/** Interval at which a worker that can't have a model is asked again. */
const AGAIN_MS = 5000;

/** A worker, and the kind of its GPUs by index. */
type ModelWorker = Pick<
  FleetWorker,
  'name' | 'kind' | 'gpuNumbers' | 'isServing' | 'listModels' | 'addModel' | 'dropModel' | 'restart'
>;

/** Models of all workers of a fleet: each has the same ones at the same indices, or none where it has none of that name. */
export class FleetModels {
  /** By index. Replaced at each change. */
  private readonly references = new Map<number, ModelReference>();
  /** By index, once known. */
  private readonly models = new Map<number, ServedModel>();
  /** By index: workers that do not have the model. */
  private readonly without = new Map<number, Set<ModelWorker>>();
  /** True until something was added: models that workers have from an earlier controller may stay. */
  private isNew = true;
  private adopting: Promise<void> | null = null;

  /**
   * `started`: initial models of the workers; `workers`: those to ask for others; `kinds`: number of kinds of GPUs.
   */
  constructor(
    started: readonly ServedModel[],
    private readonly workers: () => readonly ModelWorker[],
    private readonly kinds: number,
    private readonly time: Time,
    /** Called when other workers than before have a model. */
    private readonly moved: (index: number) => void,
  ) {
    for (const [index, model] of started.entries()) this.set(index, referenceOf(model), model);
  }

  /** Models that each worker could have, or one of them. Rejects if none can answer, with `NoWorker` if none is up. */
  async list(name: string | null, config?: string): Promise<readonly WorkerModelList[]> {
    const workers = this.workers();
    const lists = await Promise.allSettled(workers.map((worker) => worker.listModels(name, config)));
    const known = lists.flatMap((list, i) =>
      list.status === 'fulfilled' ? { ...list.value, worker: workers[i].name } : [],
    );
    if (known.length > 0) return known;
    const failed = lists.find(({ status }) => status === 'rejected');
    const reason = failed?.status === 'rejected' ? failed.reason : new WorkerGone();
    throw reason instanceof WorkerGone ? new NoWorker() : reason;
  }

  /** GPUs of workers that do not have the model. */
  gpusWithout(index: number): readonly number[] {
    return [...(this.without.get(index) ?? [])].flatMap(({ gpuNumbers }) => gpuNumbers).sort((a, b) => a - b);
  }

  /**
   * Has every worker prepare the model, including those that come up later. Resolves with the model as all that have it
   * can be expected to run it; rejects with the reason if none has it, or one can't run it: then none has it.
   */
  async add(index: number, reference: ModelReference): Promise<ServedModel> {
    this.isNew = false;
    this.set(index, reference);
    try {
      const model = await this.addEverywhere(index, reference);
      this.set(index, referenceOf(model, reference), model);
      return model;
    } catch (error) {
      await this.drop(index);
      throw error;
    }
  }

  /** Forgets a worker that has left, whose GPUs' numbers others may get. */
  left(worker: ModelWorker): void {
    for (const [index, without] of this.without) if (without.delete(worker)) this.moved(index);
  }

  /** Has workers prepare a model that they did not have before. Rejects with the reason if one can't run it. */
  async spread(index: number, workers: readonly string[]): Promise<void> {
    const reference = this.references.get(index);
    const without = this.without.get(index);
    if (reference === undefined || without === undefined) return;
    const may = this.workers().filter((worker) => without.has(worker) && workers.includes(worker.name));
    await Promise.all(may.map((worker) => this.addTo(worker, index, reference)));
  }

  /** Removes the model, which is not in use, from all workers. Never rejects: a worker that is down learns it later. */
  async drop(index: number): Promise<void> {
    this.references.delete(index);
    this.models.delete(index);
    this.without.delete(index);
    await Promise.allSettled(this.workers().map((worker) => worker.dropModel(index)));
  }

  /**
   * Keeps the models that a worker has from an earlier controller, so that they need not be loaded again; `found`
   * returns whether there is room. Never rejects; null: nothing to wait for.
   */
  adopt(
    from: ModelWorker,
    changes: readonly ModelChange[],
    found: (index: number, model: ServedModel) => Promise<boolean>,
  ): Promise<void> | null {
    const foreign = changes.filter(({ index }) => !this.references.has(index));
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

  /**
   * Gives a worker that has come up the right models, with retries while `isWanted`; `failed` gets the reason why
   * one is missing. Resolves with its state then; null: no longer wanted. Returns null if there is nothing to do.
   */
  align(
    worker: ModelWorker & Pick<FleetWorker, 'description'>,
    state: WorkerState,
    isWanted: () => boolean,
    failed: (reason: string) => void,
  ): Promise<WorkerState | null> | null {
    const held = new Map(worker.description?.models.map((model, index) => [index, referenceOf(model)]));
    const changed = new Set<number>();
    for (const { index, reference } of state.changes ?? []) {
      if (reference === null) held.delete(index);
      else held.set(index, reference);
      changed.add(index);
    }
    /** By index: reference with which the worker is right; undefined: without a model. */
    const right = new Map<number, ModelReference | undefined>();
    /** Models whose weights on its GPUs are lost. */
    const lost = new Set<number>();
    for (const index of new Set([...held.keys(), ...this.references.keys()])) {
      const wanted = this.references.get(index);
      const isSame = same(wanted, held.get(index));
      // How this worker runs a model added later is unknown: it is asked for again.
      if (isSame && !(changed.has(index) && held.has(index))) right.set(index, wanted);
      if (!isSame || (changed.has(index) && wanted?.digest === '')) lost.add(index);
    }
    const nextWrong = () =>
      [...new Set([...held.keys(), ...this.references.keys(), ...right.keys()])].find(
        (index) => !right.has(index) || right.get(index) !== this.references.get(index),
      );
    if (nextWrong() === undefined) return null;
    const alignAll = async () => {
      while (isWanted()) {
        const index = nextWrong();
        if (index === undefined)
          return {
            ...state,
            present: state.present.map((models) => models.filter((model) => !lost.has(model))),
          };
        // Changed meanwhile.
        if (right.has(index)) lost.add(index);
        const wanted = this.references.get(index);
        try {
          if (wanted === undefined) await worker.dropModel(index);
          else await this.addTo(worker, index, wanted);
          right.set(index, wanted);
        } catch (error) {
          if (isWanted()) failed((error as Error).message);
          await new Promise<void>((resolve) => this.time.after(AGAIN_MS, resolve).unref());
        }
      }
      return null;
    };
    return alignAll();
  }

  private set(index: number, reference: ModelReference, model: ServedModel | null = null): void {
    this.references.set(index, { ...reference });
    if (model === null) this.models.delete(index);
    else this.models.set(index, model);
  }

  /** Workers that are in service already get the model, too. On failure, the worker is aligned with the others. */
  private async adoptOne(
    worker: ModelWorker,
    index: number,
    reference: ModelReference,
    found: (index: number, model: ServedModel) => Promise<boolean>,
  ): Promise<void> {
    // Without a digest it is not known which files it has.
    if (reference.digest === '' || this.references.has(index)) return;
    const own = await worker.addModel(index, reference);
    if (own === null || this.references.has(index)) return;
    const model = onKinds([{ kind: worker.kind, model: own }], this.kinds);
    const serving = () => this.workers().filter(({ isServing }) => isServing);
    for (const other of serving()) this.note(other, index, null);
    if (!(await found(index, model))) return;
    this.set(index, referenceOf(model, reference), model);
    for (const other of serving())
      this.addTo(other, index, reference).catch(({ message }: Error) => other.restart(message));
  }

  private async addTo(worker: ModelWorker, index: number, reference: ModelReference): Promise<void> {
    const { name, version } = reference;
    const model = await worker.addModel(index, reference).catch(({ message }: Error) => {
      throw new Error(`model ${name}, version ${version}: ${message}`);
    });
    const before = this.models.get(index);
    const different = before === undefined || model === null ? '' : differentModel(before, model);
    if (different !== '') throw new Error(different);
    if (this.note(worker, index, model)) this.moved(index);
  }

  /** Notes whether the worker has the model; true if that is news. */
  private note(worker: ModelWorker, index: number, model: ServedModel | null): boolean {
    const without = this.without.get(index) ?? new Set();
    const had = !without.has(worker);
    if (model === null) this.without.set(index, without.add(worker));
    else without.delete(worker);
    return had !== (model !== null);
  }

  /**
   * Has all workers prepare a model. Rejects with the reason, for people, if one can't, or has a different model, or none
   * has it. One
   * that goes down meanwhile does not count; rejects with `NoWorker` if no other is left.
   */
  private async addEverywhere(index: number, reference: ModelReference): Promise<ServedModel> {
    const workers = this.workers();
    const answers = await Promise.allSettled(workers.map((worker) => worker.addModel(index, reference)));
    const problems = answers.flatMap((answer, i) =>
      answer.status === 'rejected' && !(answer.reason instanceof WorkerGone)
        ? problemAt(workers[i].name, answer.reason)
        : [],
    );
    if (problems.length === 1) throw problems[0];
    if (problems.length > 1)
      throw new EscapementError('E_MODEL_FILE', problems.map(({ what }) => what).join('; '));
    const answered = answers.flatMap((answer, i) =>
      answer.status === 'fulfilled' ? { worker: workers[i], model: answer.value } : [],
    );
    if (answered.length === 0) throw new NoWorker();
    for (const { worker, model } of answered) this.note(worker, index, model);
    const models = answered.flatMap(({ worker: { kind }, model }) => (model === null ? [] : { kind, model }));
    const [first, ...others] = models;
    if (first === undefined) throw new EscapementError('E_MODEL_FILE', 'no worker that is up has it');
    for (const other of others) {
      const different = differentModel(first.model, other.model);
      if (different !== '')
        throw new EscapementError('E_MODEL_FILE', `the workers don't have the same: ${different}`);
    }
    return onKinds(models, this.kinds);
  }
}

/** Reference to a model; `asked` supplies missing fields. */
function referenceOf(
  { spec, version, digest }: ServedModel,
  asked: Partial<ModelReference> = {},
): ModelReference {
  return { name: spec.name, version, digest: digest ?? asked.digest ?? '', config: asked.config };
}

function same(a: ModelReference | undefined, b: ModelReference | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const digest = a.digest === '' || b.digest === '' || a.digest === b.digest;
  return a.name === b.name && a.version === b.version && digest;
}

/** Problem of a model at a worker, which is not named if there is only the local one. */
export function problemAt(worker: string, error: unknown): EscapementError {
  const { code, what, place } =
    error instanceof EscapementError ? error : new EscapementError('E_MODEL_FILE', (error as Error).message);
  return new EscapementError(code, worker === LOCAL ? what : `worker ${worker}: ${what}`, place);
}

/** Models are unknown and cannot be changed until a worker is up. */
export class NoWorker extends EscapementError {
  constructor() {
    super('E_WORKER', 'no worker is up');
  }
}
