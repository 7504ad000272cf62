import {
  type CallOptions,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { unixMs } from '../../../base/clock/wall-clock.js';
import { fail, skip } from '../finding.js';
import { shown } from '../plain.js';
import type { Endpoint } from './endpoint.js';
import { GRPC_METHODS, type GrpcMethod } from './grpc-messages.js';
import type { Transcript } from './transcript.js';

/** Answers of a stream beyond one for each request. */
const MOST_STRAY_MESSAGES = 16;

/** How a call ended: with a message, or with a status other than OK. */
export interface GrpcAnswer<A = Readonly<Record<string, unknown>>> {
  readonly code: number;
  /** `NOT_FOUND` and the server's words. */
  readonly text: string;
  /** Null unless the status is OK. */
  readonly message: A | null;
}

/** Asks a server over gRPC. Every call skips the case where the run has no address for it. */
export class GrpcClient {
  private opened: Client | null = null;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly transcript: Transcript,
    private readonly channel: ChannelOptions = {},
  ) {}

  /** Calls a method of the protocol and fails unless it succeeds. */
  async ask<A = Readonly<Record<string, unknown>>>(method: GrpcMethod, request: object): Promise<A> {
    const { message, text } = await this.call<A>(method, request);
    return message ?? fail(`${method} ends with ${text}`);
  }

  /** The same, whatever comes of it. */
  call<A = Readonly<Record<string, unknown>>>(method: GrpcMethod, request: object): Promise<GrpcAnswer<A>> {
    return this.callAs(GRPC_METHODS[method], request);
  }

  callAs<A>(method: MethodDefinition<object, object>, request: object): Promise<GrpcAnswer<A>> {
    return this.callRaw(method.path, method.requestSerialize(request), method, shown(request));
  }

  /** Sends bytes in place of a message. */
  callRaw<A>(
    path: string,
    bytes: Buffer,
    { responseDeserialize }: Pick<MethodDefinition<object, object>, 'responseDeserialize'>,
    sent = `${bytes.length} bytes`,
  ): Promise<GrpcAnswer<A>> {
    return new Promise((resolve) => {
      const done = (error: ServiceError | null, message?: unknown) => {
        const answer = answerOf<A>(error, message);
        this.transcript.add(`gRPC ${path.split('/').at(-1)} ${sent}`, answer.text);
        resolve(answer);
      };
      const { client } = this;
      client.makeUnaryRequest(
        path,
        (raw: Buffer) => raw,
        responseDeserialize,
        bytes,
        this.metadata(),
        this.options(),
        done,
      );
    });
  }

  /** Sends requests on one stream and gathers the answers until the server ends it. */
  stream(
    method: GrpcMethod,
    requests: readonly object[],
  ): Promise<{ code: number; text: string; messages: object[] }> {
    const { path, requestSerialize, responseDeserialize } = GRPC_METHODS[method];
    const call = this.client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      this.metadata(),
      this.options(),
    );
    const messages: object[] = [];
    return new Promise((resolve) => {
      call.on('data', (message: object) => {
        if (messages.push(message) > requests.length + MOST_STRAY_MESSAGES) call.cancel();
      });
      call.on('error', () => {});
      call.on('status', ({ code, details }) => {
        const text = `${status[code] ?? code} ${details}`;
        this.transcript.add(
          `gRPC ${method}: ${requests.length} requests`,
          `${messages.length} answers, then ${text}`,
        );
        resolve({ code, text, messages });
      });
      for (const request of requests) call.write(request);
      call.end();
    });
  }

  close(): void {
    this.opened?.close();
  }

  private get client(): Client {
    const { grpc, ca, insecure, url, maxAnswerBytes } = this.endpoint;
    if (grpc === null) skip('no --grpc HOST:PORT');
    this.opened ??= new Client(
      grpc,
      url.protocol === 'https:'
        ? credentials.createSsl(ca ?? null, null, null, { rejectUnauthorized: !insecure })
        : credentials.createInsecure(),
      {
        'grpc.max_receive_message_length': maxAnswerBytes,
        'grpc.enable_retries': 0,
        'grpc.use_local_subchannel_pool': 1,
        ...this.channel,
      },
    );
    return this.opened;
  }

  private options(): CallOptions {
    return { deadline: unixMs() + this.endpoint.timeoutMs };
  }

  private metadata(): Metadata {
    const metadata = new Metadata();
    if (this.endpoint.token !== undefined) metadata.set('authorization', `Bearer ${this.endpoint.token}`);
    return metadata;
  }
}

function answerOf<A>(error: ServiceError | null, message: unknown): GrpcAnswer<A> {
  if (error === null) return { code: status.OK, text: `OK ${shown(message)}`, message: message as A };
  const { code, details } = error;
  return { code, text: `${status[code] ?? code} ${details}`, message: null };
}
