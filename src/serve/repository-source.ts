import { statSync } from 'node:fs';
import type { ModelSource, WorkerModel } from '../live/model.js';
import type { ModelList } from '../live/model-list.js';
import { Preparer } from './preparer.js';
import type { Repository } from './preparer-messages.js';

/** Number of versions remembered, more than most servers have at a time. */
const MOST_OPENED = 1024;

/** Models of a repository, prepared on a controller's request. Keeps only the necessary facts in memory. */
export class RepositorySource implements ModelSource {
  private readonly preparer: Preparer;
  /** Latest result of opening each version, most recent at the end. */
  private readonly opened = new Map<string, { readonly model: WorkerModel; readonly file: string }>();

  /** `say` receives lines for the operator. */
  constructor(repository: Repository, say: (what: string) => void) {
    this.preparer = new Preparer(repository, say);
  }

  list(name: string | null): Promise<ModelList> {
    return this.preparer.list(name);
  }

  async open(name: string, version: string, digest: string): Promise<WorkerModel> {
    const key = JSON.stringify([name, version]);
    const before = this.opened.get(key);
    // A model's files may change while it is unloaded and change back.
    if (before?.model.digest === digest && before.file === fileKey(before.model)) return before.model;
    const model = await this.preparer.prepare(name, version);
    if (digest !== '' && digest !== model.digest) {
      throw new Error('its files have changed since they were looked at: load it');
    }
    this.opened.delete(key);
    this.opened.set(key, { model, file: fileKey(model) });
    if (this.opened.size > MOST_OPENED) this.opened.delete(this.opened.keys().next().value as string);
    return model;
  }

  close(): Promise<void> {
    return this.preparer.close();
  }
}

/** Changes with each replacement of the optimized model. */
function fileKey({ ortPath }: WorkerModel): string {
  const stats = statSync(ortPath ?? '', { throwIfNoEntry: false });
  return `${stats?.ino} ${stats?.mtimeMs}`;
}
