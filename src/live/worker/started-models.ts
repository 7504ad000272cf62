import type { ModelSource, WorkerModel } from '../model.js';
import { type ModelList, NO_MODELS } from '../model-list.js';

/** A worker without a repository has the models that it was started with. */
export class StartedModels implements ModelSource {
  constructor(private readonly models: readonly WorkerModel[]) {}

  async list(name: string | null): Promise<ModelList> {
    const versions = this.models
      .filter(({ spec }) => name === null || spec.name === name)
      .map(({ spec, version, digest = '' }) => ({ name: spec.name, version, digest, isMeasured: true }));
    return { ...NO_MODELS, versions };
  }

  async open(name: string, version: string): Promise<WorkerModel> {
    const model = this.models.find((each) => each.spec.name === name && each.version === version);
    if (model === undefined) throw new Error('it has no other models than those that it was started with');
    return model;
  }

  async close(): Promise<void> {}
}
