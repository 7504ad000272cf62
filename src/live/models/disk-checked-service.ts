import type { InferenceRequest, ModelStatistics, ServiceState, WatchedService } from '../service.js';
import { ServiceError } from '../service.js';
import type { DiskState, ModelsOnDisk } from './models-on-disk.js';

/**
 * A service whose models were read from a repository at its start: one is put into service only if it is still what
 * lies on disk.
 */
export class DiskCheckedService implements WatchedService {
  constructor(
    private readonly service: WatchedService,
    private readonly repository: ModelsOnDisk,
  ) {}

  get state(): ServiceState {
    return this.service.state;
  }

  watch(changed: () => void): () => void {
    return this.service.watch(changed);
  }

  nowNs(): number {
    return this.service.nowNs();
  }

  infer(request: InferenceRequest): void {
    this.service.infer(request);
  }

  async load(name: string): Promise<void> {
    const state = await this.repository.look(name);
    const difference = differenceOf(name, state);
    if (difference !== null) throw new ServiceError('needsRestart', `${difference}${this.meanwhile(name)}`);
    await this.service.load(name);
  }

  unload(name: string): Promise<void> {
    return this.service.unload(name);
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.service.statistics();
  }

  private meanwhile(name: string): string {
    const entry = this.state.entries.find((each) => each.name === name);
    if (entry === undefined) return '';
    return entry.state === 'ready'
      ? `; until then it goes on serving version ${JSON.stringify(entry.version)} as loaded at its start`
      : '; until then the model stays unloaded';
  }
}

/** Why what lies on disk cannot be loaded; null: it is what was loaded. */
function differenceOf(name: string, state: DiskState): string | null {
  const model = `model ${JSON.stringify(name)}`;
  switch (state.kind) {
    case 'added':
      return `${model} is in the repository but was not there when the server started: restart the server to serve it`;
    case 'changed':
      return `${model} has changed on disk since the server loaded it: restart the server to serve the new files`;
    case 'settingsChanged':
      return `the config.yaml of ${model} has changed since the server started: restart the server to apply it`;
    case 'otherVersion':
      return `the highest version of ${model} on disk is now ${JSON.stringify(state.version)}: restart the server to serve it`;
    case 'gone':
      return `the files of ${model} are gone from the repository: put them back, or restart the server to serve without it`;
    case 'same':
    case 'absent':
      return null;
  }
}
