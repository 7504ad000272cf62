import { type Client, type ClientUnaryCall, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { MIB } from '../base/units.js';
import {
  OUTCOME_ERROR,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../core/request.js';
import {
  decodeOutputs,
  describeGrpcServer,
  encodeInfer,
  INFER_PATH,
  LIVE_PATH,
  metadataOf,
  openClient,
} from './grpc-api.js';
import { noAnswer, plainLine, type Reply } from './reply.js';
import { assumptions, joined, type RequestSpec, requestEncoder, sharedBytes } from './requests.js';
import { afterPause, type Done, type LoadRequest, type LoadTarget, type TargetOptions } from './target.js';
import type { Parameter } from './tensors.js';

/** One connection carries any number of concurrent requests, and writes those of the same instant together. */
const DEFAULT_CONNECTIONS = 1;
/** The client answers RESOURCE_EXHAUSTED to larger ones itself. */
const MOST_ANSWER_BYTES = 256 * MIB;

/**
 * A server of the Open Inference Protocol over gRPC: `grpc://HOST:PORT`, or `grpcs:` for TLS. Throws `E_SERVER` if the
 * server cannot be used and `E_UNKNOWN_MODEL` if it lacks a model.
 */
export async function openGrpcTarget(url: URL, options: TargetOptions): Promise<LoadTarget> {
  const { models } = await describeGrpcServer(url, options);
  const name = `${url.protocol}//${url.host}`;
  const encode = requestEncoder(name, options, models, (spec) => {
    const { tensors, shared } = spec;
    const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
    const tail = sharedBytes(shared, key, () =>
      encodeInfer({ raw_input_contents: tensors.map(({ data }) => data) }),
    );
    return (sloMs) => joined(headOf(sloMs, spec), tail);
  });
  return new GrpcTarget(name, assumptions(options, models), url, options, encode);
}

/** Already encoded, in one or two pieces. */
type GrpcMessage = Buffer | readonly Buffer[];

class GrpcTarget implements LoadTarget {
  /** Always 0: requests share connections. */
  readonly waited = 0;
  private readonly clients: readonly Client[];
  /** Metadata of each tenant's calls; one element if there are no tenants. */
  private readonly metadata: readonly Metadata[];
  private readonly unanswered = new Set<ClientUnaryCall>();
  private readonly keeps: boolean;
  private next = 0;

  constructor(
    readonly name: string,
    readonly assumed: readonly string[],
    url: URL,
    options: TargetOptions,
    private readonly encode: (request: LoadRequest) => GrpcMessage,
  ) {
    const { connections = DEFAULT_CONNECTIONS, keptBytes } = options;
    this.keeps = keptBytes !== undefined;
    this.clients = Array.from({ length: connections }, () =>
      openClient(url, options, {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.max_receive_message_length': MOST_ANSWER_BYTES,
        'grpc.enable_retries': 0,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 100,
      }),
    );
    this.metadata = metadataOfTenants(options);
  }

  send(request: LoadRequest, done: Done): void {
    const client = this.clients[this.next];
    this.next = (this.next + 1) % this.clients.length;
    this.call(client, INFER_PATH, this.encode(request), this.metadata[request.tenant ?? 0], done);
  }

  ping(done: Done): void {
    this.call(this.clients[0], LIVE_PATH, NOTHING, this.metadata[0], done);
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

  private call(client: Client, path: string, message: GrpcMessage, metadata: Metadata, done: Done): void {
    let hasMetadata = false;
    const call: ClientUnaryCall = client.makeUnaryRequest(
      path,
      inOnePiece,
      this.keeps ? kept : forgotten,
      message,
      metadata,
      (error: ServiceError | null, answer?: Buffer) => {
        // Ignores calls that were dropped.
        if (!this.unanswered.delete(call)) return;
        if (error === null) done(OUTCOME_OK, this.keeps ? answerOf(answer as Buffer) : SUCCESS);
        // A status of the server comes with its headers; without them, the client made it up.
        else if (hasMetadata || Object.keys(error.metadata.getMap()).length > 0)
          done(outcomeOf(error.code), replyOf(error));
        else {
          const lack = isSent(call, this.clients) ? 'lost' : 'neverSent';
          afterPause(() => done(OUTCOME_ERROR, noAnswer(error.details, lack)));
        }
      },
    );
    call.once('metadata', () => {
      hasMetadata = true;
    });
    this.unanswered.add(call);
  }
}

/** True if a connection has taken the call: its peer is then an address rather than the name of the server. */
function isSent(call: ClientUnaryCall, [client]: readonly Client[]): boolean {
  return call.getPeer() !== client.getChannel().getTarget();
}

function inOnePiece(message: GrpcMessage): Buffer {
  return Buffer.isBuffer(message) ? message : Buffer.concat(message as Buffer[]);
}

function kept(answer: Buffer): Buffer {
  return answer;
}

const NOTHING = Buffer.alloc(0);

function forgotten(): Buffer {
  return NOTHING;
}

const SUCCESS: Reply = { status: 'gRPC OK', message: '' };

function answerOf(message: Buffer): Reply {
  return { ...SUCCESS, outputs: () => decodeOutputs(message) };
}

function replyOf({ code, details }: ServiceError): Reply {
  return { status: `gRPC ${status[code] ?? code}`, message: plainLine(details) };
}

function outcomeOf(code: number): Outcome {
  if (code === status.RESOURCE_EXHAUSTED) return OUTCOME_REJECTED;
  return code === status.DEADLINE_EXCEEDED ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}

/** Encodes a request without its tensors. */
function headOf(sloMs: number, { model, version, priority, tensors }: RequestSpec): Buffer {
  return encodeInfer({
    model_name: model,
    ...(version === undefined ? {} : { model_version: version }),
    parameters: parametersOf({ slo_ms: sloMs, ...(priority === null ? {} : { priority }) }),
    inputs: tensors.map(({ name, datatype, shape, parameters = {} }) => ({
      name,
      datatype,
      shape,
      parameters: parametersOf(parameters),
    })),
  });
}

function parametersOf(parameters: Readonly<Record<string, Parameter>>): object {
  return Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, choiceOf(value)]));
}

function choiceOf(value: Parameter): object {
  if (typeof value === 'string') return { string_param: value };
  if (typeof value === 'boolean') return { bool_param: value };
  return Number.isInteger(value) ? { int64_param: value } : { double_param: value };
}

function metadataOfTenants(options: TargetOptions): Metadata[] {
  const { header = null, tenants = [] } = options.senders ?? {};
  if (header === null) return [metadataOf(options)];
  return tenants.map((tenant) => {
    const metadata = metadataOf(options);
    metadata.set(header, tenant);
    return metadata;
  });
}
