import type { ServedModel, TensorSignature } from '../model.js';
import type { InferenceService } from '../service.js';
import { Refusal, shown } from './refusal.js';

/** What a door tells of the server and its models, in the protocol's own words; the same on either transport. */
export class Catalog {
  constructor(
    private readonly service: InferenceService,
    private readonly serverVersion: string,
  ) {}

  serverMetadata(): { name: string; version: string; extensions: string[] } {
    return {
      name: 'escapement',
      version: this.serverVersion,
      extensions: ['binary_tensor_data', 'model_repository'],
    };
  }

  /** Index of a model; `version` empty: whichever there is. Throws a refusal. */
  find(name: string, version: string): number {
    const model = this.service.modelIndex(name);
    if (model < 0) throw new Refusal('unknown', `unknown model ${shown(name)}`);
    const served = this.service.models[model];
    if (version !== '' && version !== served.version) {
      throw new Refusal(
        'unknown',
        `unknown version ${shown(version)} of model ${shown(name)}, which has version ${shown(served.version)}`,
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

  /** Takes a model into service or out of it. `parameters`: names that the client gave. Throws a refusal. */
  setAvailable(name: string, available: boolean, parameters: readonly string[]): void {
    const model = this.find(name, '');
    // Models cannot be configured through the protocol; to leave that out silently would be a lie.
    const foreign = parameters.find((parameter) => available || parameter !== 'unload_dependents');
    if (foreign !== undefined)
      throw new Refusal(
        'invalid',
        `parameter ${shown(foreign)} is not supported; change the model's settings on disk`,
      );
    this.service.setAvailable(model, available);
  }
}
