import { EscapementError } from '../base/errors.js';
import type { LiveController } from '../live/controller/live-controller.js';
import type { ModelSource, WorkerModel } from '../live/model.js';
import type { ModelHost } from './deployment-options.js';
import { digestOfFiles, type PreparedModel } from './prepare-model.js';

/**
 * The models that the deployment of this process has prepared, for the worker in the same process. Only what it needs to
 * know is kept: weights stay on disk.
 */
export class PreparedModels implements ModelSource {
  private readonly models = new Map<string, WorkerModel>();

  /** Returns the digest under which the model is found. */
  put(model: PreparedModel): string {
    const { source, ...rest } = model;
    const digest = digestOfFiles(source);
    this.models.set(keyOf(model.spec.name, model.version, digest), { ...rest, digest });
    return digest;
  }

  async open(name: string, version: string, digest: string): Promise<WorkerModel> {
    const model = this.models.get(keyOf(name, version, digest));
    if (model !== undefined) return model;
    throw new Error(`version ${version} of model ${name} was not prepared here`);
  }
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** A controller whose only worker takes models from `prepared`. */
export class LocalModelHost implements ModelHost {
  constructor(
    private readonly controller: LiveController,
    private readonly prepared: PreparedModels,
  ) {}

  async addModel(model: PreparedModel): Promise<number> {
    const { name } = model.spec;
    const digest = this.prepared.put(model);
    try {
      return await this.controller.addModel({ name, version: model.version, digest });
    } catch (error) {
      if (error instanceof EscapementError) throw error;
      throw new EscapementError('E_MODEL_FILE', error instanceof Error ? error.message : String(error));
    }
  }

  retireModel(index: number): Promise<void> {
    return this.controller.retireModel(index);
  }
}
