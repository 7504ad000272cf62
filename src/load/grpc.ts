import {
  Client,
  type ClientOptions,
  type ClientUnaryCall,
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
import {
  OUTCOME_ERROR,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../core/request.js';
import { PROTOCOL_FILE } from '../live/frontend/grpc/protocol.js';
import {
  type IndexEntry,
  type ModelMetadata,
  refusedToken,
  type ServerApi,
  type ServerDescription,
  softwareText,
} from './description.js';
import { noAnswer, plainLine, type Reply } from './reply.js';
import { joined, oncePerData, type RequestSpec, requestEncoder } from './requests.js';
import {
  afterPause,
  type Done,
  type LoadRequest,
  type LoadTarget,
  MOST_ANSWER_BYTES,
  type TargetOptions,
} from './target.js';
import type { Parameter } from './tensors.js';

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

/** Timeout for a metadata request. */
const TIMEOUT_MS = 10_000;
/** One connection carries any number of concurrent requests, and batches writes of the same instant. */
const DEFAULT_CONNECTIONS = 1;

/** Opens a connection on the first call. */
function openClient(url: URL, { ca, insecure }: TargetOptions, options: ClientOptions = {}): Client {
  const secure = url.protocol === 'grpcs:';
  const channel = secure
    ? credentials.createSsl(ca ?? null, null, null, { rejectUnauthorized: insecure !== true })
    : credentials.createInsecure();
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return new Client(`${url.hostname}:${port}`, channel, options);
}

/** Metadata of calls; `tenant`: its key and name. */
function metadataOf({ token }: TargetOptions, tenant: RequestSpec['tenant'] = null): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  if (tenant !== null) metadata.set(...tenant);
  return metadata;
}

function nameOf({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

/** Status codes of an unusable server; others mean an unsupported call. */
const FATAL = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
]);

export class GrpcApi implements ServerApi {
  private readonly name: string;
  private readonly client: Client;

  constructor(
    url: URL,
    private readonly options: TargetOptions,
  ) {
    this.name = nameOf(url);
    this.client = openClient(url, options);
  }

  async describe(): Promise<Omit<ServerDescription, 'models'>> {
    const { ready } = await this.call(SERVICE.ServerReady, {}).catch(this.refuse);
    if (!ready)
      throw new EscapementError('E_SERVER', `${this.name} is not ready: wait until its models are loaded`);
    const server = await this.call(SERVICE.ServerMetadata, {}).catch(() => null);
    return { software: softwareText(server?.name, server?.version), binary: true };
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

  close(): void {
    this.client.close();
  }

  /** Null if the server does not support the call. */
  private ask<Q, A>(method: MethodDefinition<Q, A>, request: Q): Promise<A | null> {
    return this.call(method, request).catch((error: ServiceError) =>
      FATAL.has(error.code) ? this.refuse(error) : null,
    );
  }

  private call<Q, A>(method: MethodDefinition<Q, A>, request: Q): Promise<A> {
    const { path, requestSerialize, responseDeserialize } = method;
    const options = { deadline: unixMs() + TIMEOUT_MS };
    return new Promise((resolve, reject) => {
      const answered = (error: ServiceError | null, answer?: A) =>
        error === null ? resolve(answer as A) : reject(error);
      const metadata = metadataOf(this.options);
      this.client.makeUnaryRequest(
        ...([path, requestSerialize, responseDeserialize, request, metadata, options, answered] as const),
      );
    });
  }

  private readonly refuse = (error: ServiceError): never => {
    if (error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED)
      throw refusedToken(this.name, this.options, status[error.code]);
    // The library appends a note on address resolution even if it is empty.
    const reason = (error.details || error.message).replace(/\. Resolution note: $/, '');
    const hint = protocolHint(this.name, reason);
    throw new EscapementError('E_SERVER', `${this.name} cannot be used: ${reason}${hint}`);
  };
}

interface GrpcMessage {
  /** Encoded. */
  readonly body: Buffer | readonly Buffer[];
  readonly metadata: Metadata;
}

/** A server of the Open Inference Protocol over gRPC. */
export function openGrpcTarget(url: URL, options: TargetOptions, { models }: ServerDescription): LoadTarget {
  const name = nameOf(url);
  // Parts of a message: Protocol Buffers allow concatenating them.
  const encodeInfer = SERVICE.ModelInfer.requestSerialize;
  const rawData = oncePerData(({ data }) => encodeInfer({ raw_input_contents: [data] }));
  const encode = requestEncoder(name, options, models, (spec) => ({
    body: joined([encodeInfer(headOf(spec)), ...spec.tensors.map(rawData)]),
    metadata: metadataOf(options, spec.tenant),
  }));
  return new GrpcTarget(name, url, options, encode);
}

class GrpcTarget implements LoadTarget {
  /** Always 0: requests share connections. */
  readonly waited = 0;
  private readonly clients: readonly Client[];
  private readonly unanswered = new Set<ClientUnaryCall>();
  private next = 0;

  constructor(
    readonly name: string,
    url: URL,
    private readonly options: TargetOptions,
    private readonly encode: (request: LoadRequest) => GrpcMessage,
  ) {
    this.clients = Array.from({ length: options.connections ?? DEFAULT_CONNECTIONS }, () =>
      openClient(url, options, {
        'grpc.use_local_subchannel_pool': 1,
        // The client answers RESOURCE_EXHAUSTED to larger ones itself.
        'grpc.max_receive_message_length': MOST_ANSWER_BYTES,
        'grpc.enable_retries': 0,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 100,
      }),
    );
  }

  send(request: LoadRequest, done: Done): void {
    this.call(SERVICE.ModelInfer.path, this.encode(request), done);
  }

  ping(done: Done): void {
    this.call(SERVICE.ServerLive.path, { body: Buffer.alloc(0), metadata: metadataOf(this.options) }, done);
  }

  /** Drops calls that no connection has taken. */
  dropUnsent(): number {
    const unsent = [...this.unanswered].filter((call) => !isSent(call, this.clients));
    for (const call of unsent) {
      this.unanswered.delete(call);
      call.cancel();
    }
    return unsent.length;
  }

  close(): void {
    for (const call of this.unanswered) call.cancel();
    this.unanswered.clear();
    for (const client of this.clients) client.close();
  }

  private call(path: string, { body, metadata }: GrpcMessage, done: Done): void {
    const client = this.clients[this.next];
    this.next = (this.next + 1) % this.clients.length;
    let hasMetadata = false;
    const answered = (error: ServiceError | null, answer?: Buffer) => {
      // Ignores calls that were dropped.
      if (!this.unanswered.delete(call)) return;
      if (error === null) done(OUTCOME_OK, this.options.keepsAnswers === true ? replyOf(answer) : SUCCESS);
      // A status without headers comes from the client, not the server.
      else if (hasMetadata || Object.keys(error.metadata.getMap()).length > 0)
        done(OUTCOMES.get(error.code) ?? OUTCOME_ERROR, failureOf(error));
      else {
        const lack = isSent(call, this.clients) ? 'lost' : 'neverSent';
        afterPause(() => done(OUTCOME_ERROR, noAnswer(error.details, lack)));
      }
    };
    const call = client.makeUnaryRequest(path, inOnePiece, asItIs, body, metadata, answered);
    call.once('metadata', () => {
      hasMetadata = true;
    });
    this.unanswered.add(call);
  }
}

/** True if a connection has taken the call: its peer is then an address, not the name of the server. */
function isSent(call: ClientUnaryCall, [client]: readonly Client[]): boolean {
  return call.getPeer() !== client.getChannel().getTarget();
}

function inOnePiece(body: GrpcMessage['body']): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body as Buffer[]);
}

function asItIs(answer: Buffer): Buffer {
  return answer;
}

const SUCCESS: Reply = { status: 'gRPC OK', message: '' };
/** Outcomes of statuses of the protocol; all others are errors. */
const OUTCOMES = new Map<number, Outcome>([
  [status.RESOURCE_EXHAUSTED, OUTCOME_REJECTED],
  [status.DEADLINE_EXCEEDED, OUTCOME_TIMEOUT],
]);

function replyOf(answer: Buffer = Buffer.alloc(0)): Reply {
  return { ...SUCCESS, outputs: () => SERVICE.ModelInfer.responseDeserialize(answer).outputs };
}

function failureOf({ code, details }: ServiceError): Reply {
  return { status: `gRPC ${status[code] ?? code}`, message: plainLine(details) };
}

/** A request without its tensors. */
function headOf({ model, version, sloMs, priority, tensors }: RequestSpec): object {
  return {
    model_name: model,
    ...(version === undefined ? {} : { model_version: version }),
    parameters: parametersOf({ slo_ms: sloMs, ...(priority === null ? {} : { priority }) }),
    inputs: tensors.map(({ data: _, parameters = {}, ...tensor }) => ({
      ...tensor,
      parameters: parametersOf(parameters),
    })),
  };
}

function parametersOf(parameters: Readonly<Record<string, Parameter>>): object {
  return Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, choiceOf(value)]));
}

function choiceOf(value: Parameter): object {
  if (typeof value === 'string') return { string_param: value };
  if (typeof value === 'boolean') return { bool_param: value };
  return Number.isInteger(value) ? { int64_param: value } : { double_param: value };
}
