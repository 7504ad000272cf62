import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import { atLongest, fillByInput } from '../lengths.js';
import { FREE, type ModelSignature, type ServedModel, type TensorSignature } from '../model.js';
import {
  type InferenceService,
  type ModelEntry,
  type ModelStatistics,
  type ServiceState,
  STANDS_BY,
} from '../service.js';
import { tokensMatch } from '../wire/credentials.js';
import { ApiError, ApiErrorCounts, serverNotReady, shown } from './api-error.js';
import type { FrontendSettings, TenantHeader, TurnedAway } from './frontend.js';
import type { Json } from './json.js';
import { type Account, Budget, type Limits, mostAnswerBytes } from './limits.js';

/** State shared by all requests of one frontend. */
export class Site {
  readonly catalog: Catalog;
  readonly apiErrors: ApiErrorCounts;
  /** Finds the index of a request's tenant. */
  readonly tenantOf: ReturnType<typeof tenantFinder>;
  isClosing = false;
  private readonly budget: Budget;

  constructor(
    transport: 'http' | 'grpc',
    readonly service: InferenceService,
    readonly settings: FrontendSettings,
    private readonly turnedAway: TurnedAway,
  ) {
    this.catalog = new Catalog(service, settings);
    this.apiErrors = new ApiErrorCounts(settings.apiErrors, transport);
    this.tenantOf = tenantFinder(settings.tenants);
    this.budget = new Budget(settings, settings.budget ?? undefined);
  }

  /** Admits a connection until it closes. Beyond the limit it is closed; null. */
  admit(socket: Socket): Account | null {
    const account = this.accountOf(socket);
    socket.on('error', () => {});
    if (account.enter()) {
      socket.once('close', () => account.leave());
      return account;
    }
    this.apiErrors.add('tooManyConnections');
    this.turnedAway(account.client);
    socket.destroy();
    return null;
  }

  accountOf({ remoteAddress }: Socket): Account {
    return this.budget.open(remoteAddress);
  }
}

interface CatalogSettings extends Pick<Limits, 'maxBatch' | 'maxBodyBytes'> {
  readonly serverVersion: string;
}

/** Metadata of the server and its models in the protocol's terms, for either transport. */
export class Catalog {
  private indexed: ServiceState | null = null;
  /** Models that are loading and were requested since then. */
  private readonly wanted = new Set<string>();
  private entries: ReadonlyMap<string, readonly ModelEntry[]> = new Map();

  constructor(
    private readonly service: InferenceService,
    private readonly settings: CatalogSettings,
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
      // Models may be missing until it is ready.
      this.checkServerReady();
      throw new ApiError('unknown', `Request for unknown model: ${shown(name)} is not found`);
    }
    const asked = versions.find(isVersion(version));
    if (asked !== undefined) return asked;
    const served = versions.filter((entry) => this.isReady(entry)).map((entry) => shown(entry.version));
    const [noun, are] = served.length === 1 ? ['version', 'is'] : ['versions', 'are'];
    const others = served.length === 0 ? '' : `; ${noun} ${served.join(', ')} ${are} served`;
    const what = `${shown(name)} version ${shown(version)} is not found`;
    throw new ApiError('unknown', `Request for unknown model: ${what}${others}`);
  }

  /** The model of an entry that takes requests now, otherwise throws an `ApiError`. */
  ready(entry: ModelEntry): ServedModel {
    const { name, state, reason, model } = entry;
    const { notReady, takesRequests = false } = this.service.state;
    if (state === 'unavailable' || state === 'unloading') throw this.notLoaded(entry);
    if (notReady !== null && !takesRequests) this.checkServerReady();
    if (state === 'loading' || model === null) {
      this.want(name);
      throw new ApiError('notReady', `model ${shown(name)} is not ready yet: ${reason}`);
    }
    return model;
  }

  /** Throws an `ApiError` unless an entry takes requests now, and a GPU runs them. */
  checkReady(entry: ModelEntry): void {
    this.ready(entry);
    const { name, blocked } = entry;
    if (blocked !== undefined)
      throw new ApiError('notReady', `model ${shown(name)} is not ready: ${blocked}`);
  }

  /** True if an entry takes requests now, and a GPU runs them. */
  isReady({ state, blocked }: ModelEntry): boolean {
    const { notReady, takesRequests = false } = this.service.state;
    return state === 'ready' && blocked === undefined && (notReady === null || takesRequests);
  }

  /** True if the model exists and takes requests now. */
  isReadyNamed(name: string, version: string): boolean {
    const entry = this.byName().get(name)?.find(isVersion(version));
    return entry !== undefined && this.isReady(entry);
  }

  /** Throws an `ApiError` while the server as a whole takes no requests. */
  checkServerReady(): void {
    const { takesOver = false } = this.service.state;
    const notReady = takesOver ? STANDS_BY : this.service.state.notReady;
    if (notReady !== null)
      throw new ApiError(notReady === STANDS_BY ? 'standby' : 'notReady', serverNotReady(notReady));
  }

  modelMetadata(entry: ModelEntry) {
    const { name } = entry;
    const { signature, isPipeline } = this.known(entry);
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
      platform: platformOf(isPipeline),
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
        const { name, version, state, blocked, model } = entry;
        const reason = entry.reason || (model?.isProvisional === true ? PROVISIONAL : '');
        // What the server cannot answer now is not ready, whatever its files are like.
        const isHeldUp = state === 'ready' && !this.isReady(entry);
        if (isHeldUp) return { name, version, state: 'UNAVAILABLE', reason: notReady ?? blocked ?? reason };
        return { name, version, state: state.toUpperCase(), reason };
      })
      .filter(({ state }) => !onlyReady || state === 'READY');
  }

  /** Puts a model into service. `parameters`: what the client gave. Rejects with an `ApiError`. */
  async load(name: string, { config = null, ...foreign }: Json): Promise<void> {
    refuseParameters(Object.keys(foreign));
    if (config !== null && typeof config !== 'string')
      throw new ApiError('invalid', `parameter config: expected a text with JSON, got ${shown(config)}`);
    await this.service.load(name, config ?? undefined);
  }

  /** Takes a model out of service. `parameters`: names that the client gave. Rejects with an `ApiError`. */
  async unload(name: string, parameters: readonly string[]): Promise<void> {
    this.find(name, '');
    refuseParameters(parameters.filter((parameter) => parameter !== 'unload_dependents'));
    await this.service.unload(name);
  }

  /** Reports requests for a loading model, once per state of the service. */
  private want(name: string): void {
    if (this.wanted.has(name)) return;
    this.wanted.add(name);
    void this.service.wants(name);
  }

  private known(entry: ModelEntry): ServedModel {
    const { name, state, reason, model } = entry;
    if (model !== null) return model;
    if (state === 'loading')
      throw new ApiError('notReady', `model ${shown(name)} is not known yet: ${reason}`);
    throw this.notLoaded(entry);
  }

  private notLoaded({ name, reason, isUnloaded = false }: ModelEntry): ApiError {
    const { howLoaded = CLIENTS_LOAD } = this.service.state;
    // What is wrong with a model has to be corrected first.
    const how = isUnloaded ? `; ${howLoaded}` : '';
    return new ApiError('notReady', `model ${shown(name)} is ${reason}${how}`);
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
    this.wanted.clear();
    this.entries = entries;
    return entries;
  }
}

/** Status of a ready model that was not measured in full. */
const PROVISIONAL = 'measured only briefly';
const CLIENTS_LOAD = 'load it through the model repository';

/** `version` empty: the one that is served by default. */
function isVersion(version: string): (entry: ModelEntry) => boolean {
  return (entry) => (version === '' ? entry.isDefault : entry.version === version);
}

/** Rejects parameters without an effect, so that clients do not rely on them. */
function refuseParameters([foreign]: readonly string[]): void {
  if (foreign === undefined) return;
  throw new ApiError(
    'invalid',
    `parameter ${shown(foreign)} is not supported; change the model's files on disk`,
  );
}

/** Bytes of a request or answer that are not the data of tensors. */
const HEADER_BYTES = 4 * KIB;

/**
 * A model's configuration as clients of other servers read it (model configuration extension): names, types and sizes of
 * its tensors, whether it takes batches, and, in their `parameters`, the lengths of its inputs as its config.yaml says them.
 */
function modelConfig({ spec, signature, isPipeline }: ServedModel, limits: CatalogSettings) {
  const { inputs, outputs, batched, maxBatch } = signature;
  // The batch is no dimension in a configuration.
  const ofRow = (tensor: TensorSignature) =>
    describe(batched || maxBatch === undefined ? tensor : { ...tensor, shape: tensor.shape.slice(1) });
  return {
    name: spec.name,
    platform: platformOf(isPipeline),
    backend: isPipeline ? '' : 'onnxruntime',
    max_batch_size: maxBatch ?? (batched ? largestBatch(atLongest(signature), limits) : 0),
    input: inputs.map((input) => ({ ...ofRow(input), format: 'FORMAT_NONE' })),
    output: outputs.map(ofRow),
    ...(batched && !isPipeline ? { dynamic_batching: { preferred_batch_size: [...spec.batchSizes] } } : {}),
    ...(signature.lengths === undefined ? {} : { parameters: lengthParameters(signature) }),
  };
}

function platformOf(isPipeline = false): string {
  return isPipeline ? 'ensemble' : 'onnxruntime_onnx';
}

/** The values are JSON, since parameters are texts. */
function lengthParameters(signature: ModelSignature) {
  const text = (value: unknown) => ({ string_value: JSON.stringify(value) });
  return { buckets: text(signature.lengths?.buckets), fill: text(fillByInput(signature)) };
}

/** Largest batch of one call: `--max-batch`, as far as its tensors fit into the largest body and answer. */
function largestBatch(
  { inputs, outputs }: ModelSignature,
  { maxBatch, maxBodyBytes }: CatalogSettings,
): number {
  const rowsIn = (limitBytes: number, tensors: readonly TensorSignature[]) =>
    Math.floor((limitBytes - HEADER_BYTES) / tensors.reduce((sum, { bytes }) => sum + bytes, 0));
  const fitting = Math.min(rowsIn(maxBodyBytes, inputs), rowsIn(mostAnswerBytes({ maxBodyBytes }), outputs));
  return Math.max(1, Math.min(maxBatch, fitting));
}

function describe({ name, datatype, shape }: TensorSignature) {
  const type = datatype === 'BYTES' ? 'STRING' : datatype;
  return { name, data_type: `TYPE_${type}`, dims: shape.map((size) => (size === FREE ? -1 : size)) };
}

/** The statistics of one version of a model, as the statistics extension of the protocol has them in JSON. */
function jsonOfStatistics({ success, fail, queue, ...one }: ModelStatistics): object {
  const computed = (part: Pick<ModelStatistics, 'computeInput' | 'computeInfer' | 'computeOutput'>) => ({
    compute_input: part.computeInput,
    compute_infer: part.computeInfer,
    compute_output: part.computeOutput,
  });
  return {
    name: one.name,
    version: one.version,
    last_inference: one.lastInferenceMs,
    inference_count: one.inferenceCount,
    execution_count: one.executionCount,
    inference_stats: { success, fail, queue, ...computed(one) },
    batch_stats: one.batches.map((batch) => ({ batch_size: batch.batchSize, ...computed(batch) })),
  };
}

/**
 * Throws an `ApiError` unless the client shows the bearer token (RFC 6750). `expected` null: everybody may enter. `authorization`:
 * what the client sent under that name; the name of the scheme may be written in capitals or not (RFC 9110).
 */
export function checkToken(expected: string | null, authorization = ''): void {
  if (expected === null) return;
  if (/^bearer /i.test(authorization) && tokensMatch(authorization.slice('Bearer '.length), expected)) return;
  throw new ApiError('unauthenticated', 'needs "authorization: Bearer TOKEN" with the token of this server');
}

/** Web pages that may use the API from a browser (the Fetch standard's CORS). */
export class Origins {
  private readonly allowed: ReadonlySet<string>;

  /**
   * `cors`: origins with commas in between, `*` for all; null: none. `hasToken`: clients must show a token, which no
   * browser sends by itself.
   */
  constructor(
    private readonly cors: string | null,
    private readonly hasToken: boolean,
  ) {
    this.allowed = new Set((cors ?? '').split(',').map((origin) => origin.trim()));
  }

  /** True if some other origins are allowed: answers then depend on the origin and say so (`Vary`). */
  get isOn(): boolean {
    return this.cors !== null;
  }

  allows(origin: string): boolean {
    return this.isOn && (this.allowed.has('*') || this.allowed.has(origin));
  }

  /** CORS headers of an answer to a page of that origin. */
  headersFor(origin: string | undefined): readonly string[] {
    if (origin === undefined || !this.allows(origin)) return ['vary', 'origin'];
    const exposed = 'inference-header-content-length, retry-after, traceparent';
    return [
      ...['vary', 'origin', 'access-control-allow-origin', origin],
      ...['access-control-expose-headers', exposed],
    ];
  }

  /**
   * Throws an `ApiError` for a request that a page makes a browser send. Browsers let any page send plain POSTs; what is
   * answered it cannot read, but the request would have been done. No page is served here, so one that says it comes
   * from here has made its own name point to this address.
   */
  admit(origin: string | undefined): void {
    if (origin === undefined || this.hasToken || this.allows(origin)) return;
    throw new ApiError(
      'foreignOrigin',
      `web pages of ${shown(origin)} may not use this server: --cors allows origins`,
    );
  }
}

/**
 * Returns what finds the tenant of a request, given what finds a header. Whatever clients send, there are as many as were listed:
 * a name that is not listed counts as the first.
 */
export function tenantFinder({ header, list }: TenantHeader): (find: (header: string) => unknown) => number {
  const indexOf = new Map<unknown, number>(list.map(({ name }, index) => [name, index]));
  return (find) => (header === '' ? 0 : (indexOf.get(find(header)) ?? 0));
}

/** W3C Trace Context: there is no version ff, and all zeros name no trace and no parent. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that the header `traceparent` names; null: none that can be read. */
export function traceOf(traceparent: unknown): string | null {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : null;
}
