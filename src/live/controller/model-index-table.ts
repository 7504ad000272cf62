import type { Time } from '../../base/world/time.js';
import type { ModelReference, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import { differentModel } from './cluster-of-workers.js';
import type { WorkerLink } from './link/worker-link.js';

/** Interval at which a worker that can't have a model is asked again. */
const AGAIN_MS = 5000;

export interface AlignEvents {
  /** False once the worker went down, or came up again. */
  readonly isWanted: () => boolean;
  readonly failed: (reason: string) => void;
}

interface AlignStep {
  readonly index: number;
  /** True if weights on its GPUs stay. */
  readonly keeps: boolean;
}

/** Assignment of models to indices on every worker of a fleet. */
export class ModelIndexTable {
  private readonly references = new Map<number, ModelReference>();
  /** By index, once known. */
  private readonly models = new Map<number, ServedModel>();
  /** Number of changes so far. */
  private changes = 0;
  /** By index, in order of the last change: number of that change. */
  private readonly changedAt = new Map<number, number>();

  /** `models`: those with which the workers started. */
  constructor(
    models: readonly ServedModel[],
    private readonly time: Time,
  ) {
    for (const [index, model] of models.entries()) {
      this.references.set(index, referenceOf(model));
      this.models.set(index, model);
    }
  }

  set(index: number, reference: ModelReference, model: ServedModel | null = null): void {
    this.references.set(index, reference);
    if (model === null) this.models.delete(index);
    else this.models.set(index, model);
    this.changed(index);
  }

  has(index: number): boolean {
    return this.references.has(index);
  }

  delete(index: number): void {
    this.references.delete(index);
    this.models.delete(index);
    this.changed(index);
  }

  /**
   * Aligns the models of a worker that has come up, with retries. Resolves with its state then; null: no longer wanted.
   * Returns null if there is nothing to do.
   */
  align(
    link: WorkerLink,
    description: WorkerDescription | null,
    state: WorkerState,
    events: AlignEvents,
  ): Promise<WorkerState | null> | null {
    const steps = description === null ? [] : this.stepsFor(description, state);
    return steps.length === 0 ? null : this.alignBy(link, steps, state, events);
  }

  private async alignBy(
    link: WorkerLink,
    steps: readonly AlignStep[],
    state: WorkerState,
    { isWanted, failed }: AlignEvents,
  ): Promise<WorkerState | null> {
    let seen = this.changes;
    const lost = new Set(steps.flatMap(({ index, keeps }) => (keeps ? [] : [index])));
    while (isWanted()) {
      try {
        for (const { index } of steps) await this.alignOne(link, index);
        // Changes made meanwhile, also during this loop: they are appended to the map.
        for (const [index, change] of this.changedAt) {
          if (change <= seen) continue;
          lost.add(index);
          await this.alignOne(link, index);
          seen = change;
        }
        const present = state.present.map((models) => models.filter((model) => !lost.has(model)));
        return isWanted() ? { ...state, present } : null;
      } catch (error) {
        if (isWanted()) failed((error as Error).message);
        await new Promise<void>((resolve) => this.time.after(AGAIN_MS, resolve).unref());
      }
    }
    return null;
  }

  private changed(index: number): void {
    this.changedAt.delete(index);
    this.changedAt.set(index, ++this.changes);
  }

  private async alignOne(link: WorkerLink, index: number): Promise<void> {
    const reference = this.references.get(index);
    if (reference === undefined) await link.dropModel(index);
    else await this.add(link, index, reference);
  }

  /** Steps that give a worker the models it should have. */
  private stepsFor({ models }: WorkerDescription, { changes = [] }: WorkerState): AlignStep[] {
    const held = new Map(models.map((model, index) => [index, referenceOf(model)]));
    const came = new Set<number>();
    for (const { index, reference } of changes) {
      held.delete(index);
      if (reference === null) continue;
      held.set(index, reference);
      came.add(index);
    }
    const all = new Set([...this.references.keys(), ...held.keys()]);
    return [...all].flatMap((index) => {
      const wanted = this.references.get(index);
      const isSame = same(wanted, held.get(index));
      // How this worker runs a model added later is unknown: it is asked for again.
      if (isSame && !came.has(index)) return [];
      return [{ index, keeps: isSame && wanted?.digest !== '' }];
    });
  }

  private async add(link: WorkerLink, index: number, reference: ModelReference): Promise<void> {
    const { name, version } = reference;
    const model = await link.addModel(index, reference).catch(({ message }: Error) => {
      throw new Error(`model ${name}, version ${version}: ${message}`);
    });
    const before = this.models.get(index);
    const different = before === undefined ? '' : differentModel(before, model);
    if (different !== '') throw new Error(different);
  }
}

/** Reference to a model; `asked` supplies what it lacks. */
export function referenceOf(
  { spec, version, digest }: ServedModel,
  asked: Partial<ModelReference> = {},
): ModelReference {
  return { name: spec.name, version, digest: digest ?? asked.digest ?? '' };
}

function same(a: ModelReference | undefined, b: ModelReference | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const digest = a.digest === '' || b.digest === '' || a.digest === b.digest;
  return a.name === b.name && a.version === b.version && digest;
}
