import { join } from 'node:path';
import type { ModelSource, WorkerModel } from '../live/model.js';
import { modelFile, type Precision } from '../live/models/precision.js';
import { VERSION } from '../live/models/scan.js';
import { clientReason } from './client-reason.js';
import { digestOfFiles, type PrepareOptions } from './prepare-model.js';
import { Preparer } from './preparer.js';

/** What a worker answers that has no such model: the controller looks for it. */
export const NOT_IN_REPOSITORY = 'there is no such model in its repository';

interface RepositorySourceOptions {
  readonly dir: string;
  readonly precision: Precision;
  readonly prepare: PrepareOptions;
  /** Takes lines for the operator. */
  readonly say: (what: string) => void;
}

/** A worker's repository, for a controller that asks for a model while the worker runs: it is prepared then. */
export class RepositorySource implements ModelSource {
  private readonly preparer: Preparer;

  constructor(private readonly options: RepositorySourceOptions) {
    const { dir, precision, prepare, say } = options;
    this.preparer = new Preparer(dir, precision, prepare, say);
  }

  /** No version: the highest that the model's settings choose. No digest: whatever its files are. */
  async open(name: string, version: string, digest: string): Promise<WorkerModel> {
    try {
      const path = await this.find(name, version);
      const prepared = await this.preparer.prepare(name, path, { mayMeasure: true, known: null });
      if (typeof prepared === 'string') throw new Error(`the model is ${prepared}`);
      const { source, ...model } = prepared;
      const found = digestOfFiles(source);
      if (digest !== '' && digest !== found) throw new Error("the files here are not those of the cluster's");
      return { ...model, digest: found };
    } catch (error) {
      this.options.say(`model ${JSON.stringify(name)} cannot be prepared: ${(error as Error).message}`);
      throw new Error(clientReason(error as Error, this.options.dir));
    }
  }

  /** Names come from a controller's clients: only what was found in the repository becomes a path. */
  private async find(name: string, version: string): Promise<string> {
    const { dir, precision } = this.options;
    const { versions, problems } = await this.preparer.scan(name);
    const highest = versions.at(-1);
    if (highest === undefined && problems.length === 0) throw new Error(NOT_IN_REPOSITORY);
    if (version === '') {
      if (highest === undefined) throw problems[0].error;
      return highest.onnxPath;
    }
    if (!VERSION.test(version)) throw new Error(`${JSON.stringify(version)} is no version`);
    // Also one that the settings do not choose any more: the cluster still has it.
    return modelFile(join(dir, name, version), precision);
  }
}

/** A worker without a repository has the models that it was started with. */
export class StartedModels implements ModelSource {
  constructor(private readonly models: readonly WorkerModel[]) {}

  async open(name: string, version: string): Promise<WorkerModel> {
    const model = this.models.find(
      (each) => each.spec.name === name && (version === '' || each.version === version),
    );
    if (model === undefined) throw new Error('it has no other models than those that it was started with');
    return model;
  }
}
