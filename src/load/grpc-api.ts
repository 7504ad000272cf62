import {
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { unixMs } from '../base/clock/wall-clock.js';
import { EscapementError } from '../base/errors.js';
import { protocolHint } from '../base/protocol-hint.js';
import { PROTOCOL_FILE } from '../live/frontend/grpc/protocol.js';
import {
  describeModel,
  type IndexEntry,
  type ModelApi,
  type ModelDescription,
  type ModelMetadata,
  readyModels,
  type ServerDescription,
  softwareText,
} from './description.js';
import { refusedToken } from './http-api.js';
import type { TargetOptions } from './target.js';

interface ModelName {
  readonly name: string;
  readonly version?: string | undefined;
}

const LOADED = loadSync(PROTOCOL_FILE, { keepCase: true, longs: Number, defaults: true });
const SERVICE = LOADED['inference.GRPCInferenceService'] as unknown as {
  readonly ServerReady: MethodDefinition<object, { readonly ready: boolean }>;
  readonly ServerLive: MethodDefinition<object, object>;
  readonly ServerMetadata: MethodDefinition<object, { readonly name: string; readonly version: string }>;
  readonly ModelMetadata: MethodDefinition<ModelName, ModelMetadata>;
  readonly ModelReady: MethodDefinition<ModelName, { readonly ready: boolean }>;
  readonly ModelConfig: MethodDefinition<ModelName, { readonly config: unknown }>;
  readonly ModelInfer: MethodDefinition<object, { readonly outputs: unknown }>;
  readonly RepositoryIndex: MethodDefinition<object, { readonly models: readonly IndexEntry[] }>;
};

export const INFER_PATH = SERVICE.ModelInfer.path;
export const LIVE_PATH = SERVICE.ServerLive.path;

/** Opens a connection on the first call. */
export function openClient(url: URL, { ca, insecure }: TargetOptions, options: ClientOptions = {}): Client {
  const secure = url.protocol === 'grpcs:';
  const channel = secure
    ? credentials.createSsl(ca ?? null, null, null, { rejectUnauthorized: insecure !== true })
    : credentials.createInsecure();
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return new Client(`${url.hostname}:${port}`, channel, options);
}

/** Metadata of every call. */
export function metadataOf({ token }: TargetOptions): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

/** A part of a ModelInferRequest; concatenated parts form a whole one, as Protocol Buffers merge. */
export function encodeInfer(part: object): Buffer {
  return SERVICE.ModelInfer.requestSerialize(part);
}

/** Outputs described by a ModelInferResponse. Throws if it is malformed. */
export function decodeOutputs(message: Buffer): unknown {
  return SERVICE.ModelInfer.responseDeserialize(message).outputs;
}

const TIMEOUT_MS = 10_000;

/**
 * Asks a server for its models. Throws `E_SERVER` if it cannot be reached or is not ready, `E_UNKNOWN_MODEL` if it
 * lacks one. `asksBatch`: also for batches.
 */
export async function describeGrpcServer(
  url: URL,
  options: TargetOptions,
  asksBatch = false,
): Promise<ServerDescription> {
  const api = new GrpcApi(url, options);
  try {
    const { ready } = await api.call(SERVICE.ServerReady, {}).catch(api.refuse);
    if (!ready)
      throw new EscapementError('E_SERVER', `${api.name} is not ready: wait until its models are loaded`);
    const server = await api.call(SERVICE.ServerMetadata, {}).catch(() => null);
    const models: ModelDescription[] = [];
    for (const model of options.models) models.push(await describeModel(api, model, asksBatch));
    return { software: softwareText(server?.name, server?.version), binary: true, models };
  } finally {
    api.close();
  }
}

/** Models that a server has ready; null if it does not list them. Throws `E_SERVER` if it cannot be reached. */
export async function listGrpcModels(url: URL, options: TargetOptions): Promise<string[] | null> {
  const api = new GrpcApi(url, options);
  try {
    return readyModels(await api.index());
  } finally {
    api.close();
  }
}

/** Status codes of an unusable server, rather than of an unsupported call. */
const FATAL = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
]);

class GrpcApi implements ModelApi {
  readonly name: string;
  private readonly client: Client;
  private readonly token: string | undefined;
  private readonly headers: Metadata;

  constructor(url: URL, options: TargetOptions) {
    this.name = `${url.protocol}//${url.host}`;
    this.token = options.token;
    this.client = openClient(url, options);
    this.headers = metadataOf(options);
  }

  metadata(name: string, version?: string): Promise<ModelMetadata | null> {
    return this.ask(SERVICE.ModelMetadata, { name, version });
  }

  async config(name: string, version?: string): Promise<unknown> {
    return (await this.call(SERVICE.ModelConfig, { name, version }).catch(() => null))?.config ?? null;
  }

  async isReady(name: string): Promise<boolean> {
    return (await this.call(SERVICE.ModelReady, { name }).catch(() => null))?.ready === true;
  }

  async index(): Promise<readonly IndexEntry[] | null> {
    return (await this.ask(SERVICE.RepositoryIndex, {}))?.models ?? null;
  }

  /** Null if the server does not support the call. */
  private ask<Q, A>(method: MethodDefinition<Q, A>, request: Q): Promise<A | null> {
    return this.call(method, request).catch((error: ServiceError) =>
      FATAL.has(error.code) ? this.refuse(error) : null,
    );
  }

  call<Q, A>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Q, A>,
    request: Q,
  ): Promise<A> {
    const options = { deadline: unixMs() + TIMEOUT_MS };
    return new Promise((resolve, reject) => {
      const answered = (error: ServiceError | null, answer?: A) =>
        error === null ? resolve(answer as A) : reject(error);
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        this.headers,
        options,
        answered,
      );
    });
  }

  readonly refuse = (error: ServiceError): never => {
    if (error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED)
      throw refusedToken(this.name, this.token, status[error.code]);
    // The library appends a note on address resolution even if it is empty.
    const reason = (error.details || error.message).replace(/\. Resolution note: $/, '');
    const hint = protocolHint(this.name, reason);
    throw new EscapementError('E_SERVER', `${this.name} cannot be used: ${reason}${hint}`);
  };

  close(): void {
    this.client.close();
  }
}
