import { type Profile, profileModel } from '../config/profile.js';
import type { WorkerModel } from '../live/model.js';
import type { ModelList, ModelReference, ModelSource } from '../live/model-list.js';
import { scaledSpec } from './simulated-models.js';

interface SimulatedTimes {
  /** One per model, by name; or one for all. */
  readonly profiles: readonly Profile[];
  readonly timeScale: number;
  readonly pageBytes: number;
}

/**
 * Models of a repository on simulated GPUs, so that these can work alongside workers that really run them: inputs and
 * outputs are the models', times those of profiles.
 */
export class SimulatedSource implements ModelSource {
  constructor(
    private readonly repository: ModelSource,
    private readonly times: SimulatedTimes,
  ) {}

  list(name: string | null, config?: string): Promise<ModelList> {
    return this.repository.list(name, config);
  }

  async open(reference: ModelReference): Promise<WorkerModel | null> {
    const { name } = reference;
    const model = await this.repository.open(reference);
    if (model === null) return null;
    const { profiles, timeScale, pageBytes } = this.times;
    const profile = profiles.length === 1 ? profiles[0] : profiles.find((each) => each.name === name);
    if (profile === undefined)
      throw new Error(`no profile is of ${name}: name a profile for each model, or one for all, in --device`);
    const { loadNs, batchSizes, execNs, lengths, execNsByLength } = profileModel(profile, name, pageBytes);
    const missing = model.spec.batchSizes.find((size) => !batchSizes.includes(size));
    if (missing !== undefined)
      throw new Error(`the profile ${profile.name} has no batch of ${missing}, which ${name} has`);
    if (model.spec.lengths !== undefined && `${lengths}` !== `${model.spec.lengths}`)
      throw new Error(
        `the profile ${profile.name} lacks the lengths of ${name}: ${model.spec.lengths.join(', ')}`,
      );
    const times = (row: readonly number[]) =>
      model.spec.batchSizes.map((size) => row[batchSizes.indexOf(size)]);
    const tables = model.spec.lengths && execNsByLength?.map(times);
    const spec = { ...model.spec, loadNs, execNs: times(execNs), ...(tables && { execNsByLength: tables }) };
    return { ...model, spec: scaledSpec(spec, timeScale), isProvisional: false };
  }

  close(): Promise<void> {
    return this.repository.close();
  }
}
