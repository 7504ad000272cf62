import type { ModelReference, WorkerDescription, WorkerState } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { WorkerLink } from './link/worker-link.js';

interface AlignStep {
  readonly index: number;
  /** Weights that are on its GPUs stay. */
  readonly keeps: boolean;
}

/** Which model is at which index on every worker of a fleet. */
export class Roster {
  private readonly references = new Map<number, ModelReference>();

  /** `models`: those that the workers started with. */
  constructor(models: readonly ServedModel[]) {
    for (const [index, model] of models.entries()) this.references.set(index, referenceOf(model));
  }

  set(index: number, reference: ModelReference): void {
    this.references.set(index, reference);
  }

  delete(index: number): void {
    this.references.delete(index);
  }

  /** What is to be done so that a worker has the models that it should have. */
  stepsFor({ models }: WorkerDescription, { changes = [] }: WorkerState): AlignStep[] {
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
      // Of a model that came later it is not known yet how this worker runs it: it is asked for again.
      if (isSame && !came.has(index)) return [];
      return [{ index, keeps: isSame && wanted?.digest !== '' }];
    });
  }

  /** Brings the models of a worker into line. Rejects with the reason where it can't have one of them. */
  async align(link: WorkerLink, steps: readonly AlignStep[]): Promise<void> {
    for (const { index } of steps) {
      const reference = this.references.get(index);
      if (reference === undefined) await link.dropModel(index);
      else await this.add(link, index, reference);
    }
  }

  private async add(link: WorkerLink, index: number, reference: ModelReference): Promise<void> {
    try {
      await link.addModel(index, reference);
    } catch (error) {
      const { name, version } = reference;
      throw new Error(`model ${name}, version ${version}: ${(error as Error).message}`);
    }
  }
}

function referenceOf({ spec, version, digest = '' }: ServedModel): ModelReference {
  return { name: spec.name, version, digest };
}

function same(a: ModelReference | undefined, b: ModelReference | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const digest = a.digest === '' || b.digest === '' || a.digest === b.digest;
  return a.name === b.name && a.version === b.version && digest;
}
