import type { ServedModel, TensorSignature } from '../model.js';
import { type InferenceService, type ModelEntry, type ServiceState, STANDS_BY } from '../service.js';
import { ApiError, serverNotReady, shown } from './api-error.js';
import type { FrontendSettings } from './frontend.js';
import { modelConfig } from './model-config.js';
import { jsonOfStatistics } from './statistics-json.js';

/** Metadata of the server and its models in the protocol's terms, for either transport. */
export class Catalog {
  private indexed: ServiceState | null = null;
  private entries: ReadonlyMap<string, readonly ModelEntry[]> = new Map();

  constructor(
    private readonly service: InferenceService,
    private readonly settings: Pick<FrontendSettings, 'serverVersion' | 'maxBatch' | 'maxBodyBytes'>,
  ) {}

  serverMetadata(): { name: string; version: string; extensions: string[] } {
    return {
      name: 'escapement',
      version: this.settings.serverVersion,
      extensions: [
        'binary_tensor_data',
        'model_repository',
        'model_repository(unload_dependents)',
        'model_configuration',
        'statistics',
        'classification',
      ],
    };
  }

  /** The entry of a model; `version` empty: the one that is served by default. Throws an `ApiError`. */
  find(name: string, version: string): ModelEntry {
    // What this one does not know, the other controller may have.
    if (this.service.state.notReady === STANDS_BY) this.checkServerReady();
    const versions = this.byName().get(name);
    if (versions === undefined) {
      // Before the repository was read nothing is known.
      if (this.service.state.takesRequests === true) this.checkServerReady();
      throw unknown(name);
    }
    for (const entry of versions)
      if (version === '' ? entry.isDefault : entry.version === version) return entry;
    const served = versions.filter((entry) => this.isReady(entry)).map((entry) => shown(entry.version));
    const others = served.length === 0 ? '' : `, but version ${served.join(', ')} is`;
    throw new ApiError('unknown', `version ${shown(version)} of model ${shown(name)} is not served${others}`);
  }

  /** The model of an entry that takes requests now, otherwise throws an `ApiError`. */
  ready({ name, state, reason, model }: ModelEntry): ServedModel {
    const { notReady, takesRequests = false } = this.service.state;
    if (state === 'unavailable' || state === 'unloading') throw this.notLoaded(name, reason);
    if (notReady !== null && !takesRequests) this.checkServerReady();
    if (state === 'loading' || model === null)
      throw new ApiError('notReady', `model ${shown(name)} is not ready yet: ${reason}`);
    return model;
  }

  /** True if an entry takes requests now. */
  isReady({ state }: ModelEntry): boolean {
    const { notReady, takesRequests = false } = this.service.state;
    return state === 'ready' && (notReady === null || takesRequests);
  }

  /** True if the model exists and takes requests now. */
  isReadyNamed(name: string, version: string): boolean {
    const versions = this.byName().get(name) ?? [];
    const asked = (entry: ModelEntry) => (version === '' ? entry.isDefault : entry.version === version);
    return versions.some((entry) => asked(entry) && this.isReady(entry));
  }

  /** Throws an `ApiError` while the server as a whole takes no requests. */
  checkServerReady(): void {
    const { notReady } = this.service.state;
    if (notReady !== null)
      throw new ApiError(notReady === STANDS_BY ? 'standby' : 'notReady', serverNotReady(notReady));
  }

  modelMetadata(entry: ModelEntry) {
    const { name } = entry;
    const { signature } = this.known(entry);
    const describe = (tensor: TensorSignature) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: signature.batched ? [-1, ...tensor.shape] : [...tensor.shape],
    });
    return {
      name,
      versions: (this.byName().get(name) ?? [])
        .filter((each) => each === entry || each.state === 'ready')
        .map(({ version }) => version),
      platform: 'onnxruntime_onnx',
      inputs: signature.inputs.map(describe),
      outputs: signature.outputs.map(describe),
    };
  }

  /** Names of all models. */
  names(): string[] {
    return [...this.byName().keys()];
  }

  /**
   * Statistics of a model, or of all if `name` is empty, as the statistics extension of the protocol has it in
   * JSON. `version` empty: all versions.
   */
  async statistics(name: string, version: string): Promise<{ model_stats: object[] }> {
    const all = await this.service.statistics();
    const wanted = all.filter(
      (one) => (name === '' || one.name === name) && (version === '' || one.version === version),
    );
    return { model_stats: wanted.map(jsonOfStatistics) };
  }

  /** The model configuration extension of the protocol. Throws an `ApiError` for a model that is not known yet. */
  modelConfig(entry: ModelEntry): object {
    return modelConfig(this.known(entry), this.settings);
  }

  /** All models, also those that lie on disk alone; or only those that take requests. */
  async index(
    onlyReady: boolean,
  ): Promise<{ name: string; version: string; state: string; reason: string }[]> {
    if (!onlyReady) await this.service.look();
    const { entries, notReady } = this.service.state;
    return entries
      .map((entry) => {
        const { name, version, state, reason } = entry;
        // What the server cannot answer now is not ready, whatever its files are like.
        const isHeldUp = state === 'ready' && !this.isReady(entry);
        if (isHeldUp) return { name, version, state: 'UNAVAILABLE', reason: notReady ?? reason };
        return { name, version, state: state.toUpperCase(), reason };
      })
      .filter(({ state }) => !onlyReady || state === 'READY');
  }

  /** Puts a model into service. `parameters`: names that the client gave. Rejects with an `ApiError`. */
  async load(name: string, parameters: readonly string[]): Promise<void> {
    refuseParameters(parameters);
    await this.service.load(name);
  }

  /** Takes a model out of service. `parameters`: names that the client gave. Rejects with an `ApiError`. */
  async unload(name: string, parameters: readonly string[]): Promise<void> {
    this.find(name, '');
    refuseParameters(parameters.filter((parameter) => parameter !== 'unload_dependents'));
    await this.service.unload(name);
  }

  private known({ name, state, reason, model }: ModelEntry): ServedModel {
    if (model !== null) return model;
    if (state === 'loading')
      throw new ApiError('notReady', `model ${shown(name)} is not known yet: ${reason}`);
    throw this.notLoaded(name, reason);
  }

  private notLoaded(name: string, reason: string): ApiError {
    const { howLoaded = CLIENTS_LOAD } = this.service.state;
    return new ApiError('notReady', `model ${shown(name)} is ${reason}; ${howLoaded}`);
  }

  /** Built again whenever the service's state is another. */
  private byName(): ReadonlyMap<string, readonly ModelEntry[]> {
    const { state } = this.service;
    if (state === this.indexed) return this.entries;
    const entries = new Map<string, ModelEntry[]>();
    for (const entry of state.entries) {
      const versions = entries.get(entry.name);
      if (versions === undefined) entries.set(entry.name, [entry]);
      else versions.push(entry);
    }
    this.indexed = state;
    this.entries = entries;
    return entries;
  }
}

const CLIENTS_LOAD = 'load it through the model repository';

function unknown(name: string): ApiError {
  return new ApiError('unknown', `unknown model ${shown(name)}`);
}

/** Models cannot be configured through the protocol; to leave that out silently would be a lie. */
function refuseParameters([foreign]: readonly string[]): void {
  if (foreign === undefined) return;
  throw new ApiError(
    'invalid',
    `parameter ${shown(foreign)} is not supported; change the model's settings on disk`,
  );
}
