import { EscapementError } from '../base/errors.js';
import type { WorkerModel } from '../live/model.js';
import type { ModelList, ModelReference, ModelSource } from '../live/model-list.js';
import { clientReason } from './client-reason.js';

/** A worker's models, for a remote controller: problems are logged at the worker, and reported without paths. */
export class ReportedSource implements ModelSource {
  constructor(
    private readonly source: ModelSource,
    /** Repositories of the worker. */
    private readonly dirs: readonly string[],
    private readonly say: (what: string) => void,
  ) {}

  async list(name: string | null, config?: string): Promise<ModelList> {
    const list = await this.source
      .list(name, config)
      .catch((error: Error) => this.fail('the repository', error));
    const problems = list.problems.map((one) => {
      const error = new EscapementError(one.error.code, clientReason(one.error, this.dirs));
      return { ...one, error };
    });
    return { ...list, problems };
  }

  open(reference: ModelReference): Promise<WorkerModel | null> {
    const model = `model ${JSON.stringify(reference.name)}, version ${reference.version},`;
    return this.source.open(reference).catch((error: Error) => this.fail(model, error));
  }

  close(): Promise<void> {
    return this.source.close();
  }

  private fail(what: string, error: Error): never {
    this.say(`${what} cannot be used: ${error.message}`);
    throw new Error(clientReason(error, this.dirs));
  }
}
