import type { ServedModel, TensorSignature } from '../model.js';
import type { DiskState } from '../models/models-on-disk.js';
import type { InferenceService } from '../service.js';
import type { FrontendSettings } from './frontend.js';
import { Refusal, shown } from './refusal.js';

/** What a frontend tells of the server and its models, in the protocol's own words; the same on either transport. */
export class Catalog {
  constructor(
    private readonly service: InferenceService,
    private readonly settings: Pick<FrontendSettings, 'serverVersion' | 'repository'>,
  ) {}

  serverMetadata(): { name: string; version: string; extensions: string[] } {
    return {
      name: 'escapement',
      version: this.settings.serverVersion,
      extensions: ['binary_tensor_data', 'model_repository'],
    };
  }

  /** Index of a model; `version` empty: whichever there is. Throws a refusal. */
  find(name: string, version: string): number {
    const model = this.service.modelIndex(name);
    if (model < 0) throw unknown(name);
    const served = this.service.models[model];
    if (version !== '' && version !== served.version) {
      throw new Refusal(
        'unknown',
        `version ${shown(version)} of model ${shown(name)} is not served, but version ${shown(served.version)} is`,
      );
    }
    return model;
  }

  /** Throws a refusal unless the model takes requests now. */
  checkReady(model: number): void {
    if (!this.service.isAvailable(model)) {
      const { name } = this.service.models[model].spec;
      throw new Refusal('unloaded', `model ${shown(name)} is unloaded; load it through the model repository`);
    }
    if (!this.service.ready) throw new Refusal('notReady', 'the server is starting or draining');
  }

  modelMetadata(model: number) {
    const { spec, version, signature } = this.service.models[model];
    const describe = (tensor: TensorSignature) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: signature.batched ? [-1, ...tensor.shape] : [...tensor.shape],
    });
    return {
      name: spec.name,
      versions: [version],
      platform: 'onnxruntime_onnx',
      inputs: signature.inputs.map(describe),
      outputs: signature.outputs.map(describe),
    };
  }

  /** All models, or only those that take requests. */
  index(onlyReady: boolean): { name: string; version: string; state: string; reason: string }[] {
    const { service } = this;
    const describe = ({ spec, version }: ServedModel, model: number) =>
      service.isAvailable(model)
        ? { name: spec.name, version, state: 'READY', reason: '' }
        : { name: spec.name, version, state: 'UNAVAILABLE', reason: 'unloaded' };
    return service.models.map(describe).filter(({ state }) => !onlyReady || state === 'READY');
  }

  /**
   * Puts a model into service, provided that it is what lies on disk: models are only read at the start. `parameters`:
   * names that the client gave. Rejects with a refusal.
   */
  async load(name: string, parameters: readonly string[]): Promise<void> {
    refuseParameters(parameters);
    const { service, settings } = this;
    const model = service.modelIndex(name);
    const state = (await settings.repository?.look(name)) ?? null;
    if (model < 0 && state?.kind !== 'added') throw unknown(name);
    const difference = state === null ? null : differenceOf(name, state);
    if (difference !== null) {
      const meanwhile = model < 0 ? '' : `; ${this.meanwhile(model)}`;
      throw new Refusal('needsRestart', `${difference}${meanwhile}`);
    }
    service.setAvailable(model, true);
  }

  /** Takes a model out of service. `parameters`: names that the client gave. Throws a refusal. */
  unload(name: string, parameters: readonly string[]): void {
    const model = this.find(name, '');
    refuseParameters(parameters.filter((parameter) => parameter !== 'unload_dependents'));
    this.service.setAvailable(model, false);
  }

  private meanwhile(model: number): string {
    const { version } = this.service.models[model];
    return this.service.isAvailable(model)
      ? `until then it goes on serving version ${shown(version)} as loaded at its start`
      : 'until then the model stays unloaded';
  }
}

function unknown(name: string): Refusal {
  return new Refusal('unknown', `unknown model ${shown(name)}`);
}

/** Models cannot be configured through the protocol; to leave that out silently would be a lie. */
function refuseParameters([foreign]: readonly string[]): void {
  if (foreign === undefined) return;
  throw new Refusal(
    'invalid',
    `parameter ${shown(foreign)} is not supported; change the model's settings on disk`,
  );
}

/** Why what lies on disk cannot be loaded; null: it is what was loaded. */
function differenceOf(name: string, state: DiskState): string | null {
  const model = `model ${shown(name)}`;
  switch (state.kind) {
    case 'added':
      return `${model} is in the repository but was not there when the server started: restart the server to serve it`;
    case 'changed':
      return `${model} has changed on disk since the server loaded it: restart the server to serve the new files`;
    case 'settingsChanged':
      return `the config.yaml of ${model} has changed since the server started: restart the server to apply it`;
    case 'otherVersion':
      return `the highest version of ${model} on disk is now ${shown(state.version)}: restart the server to serve it`;
    case 'gone':
      return `the files of ${model} are gone from the repository: put them back, or restart the server to serve without it`;
    case 'same':
    case 'absent':
      return null;
  }
}
