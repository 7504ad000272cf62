import { fileURLToPath } from 'node:url';
import {
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { shown, skip } from './case.js';
import type { Endpoint, Loose } from './http.js';

type Method = MethodDefinition<object, object>;

/** The same path from this file and from the bundle. */
const FILES = ['protocol', 'health'].map((name) =>
  fileURLToPath(new URL(`../../test/conform/${name}.proto`, import.meta.url)),
);
const SERVICES = loadSync(FILES, { keepCase: true, longs: String, defaults: true });
const METHODS = { ...SERVICES['inference.GRPCInferenceService'], ...SERVICES['grpc.health.v1.Health'] };

/** Answers of a stream beyond one for each request. */
const MOST_STRAY_ANSWERS = 16;

/** How a call ended: with a message, or with a status other than OK. */
export interface GrpcAnswer {
  readonly code: number;
  /** The status by name, and the server's words. */
  readonly text: string;
  /** Null unless the status is OK. */
  readonly message: Loose;
}

/** Definition of a method of the protocol, or of gRPC's own health service. */
export function methodOf(name: string): Method {
  return (METHODS as unknown as Record<string, Method>)[name]!;
}

/** Calls of a server over gRPC. Without an address for it, each skips its case. */
export class GrpcClient {
  private opened: Client | null = null;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly channel: ChannelOptions = {},
  ) {}

  call(name: string, request: object): Promise<GrpcAnswer> {
    const method = methodOf(name);
    return this.callRaw(method, method.requestSerialize(request));
  }

  /** Sends bytes instead of a message. */
  callRaw({ path, responseDeserialize }: Pick<Method, 'path' | 'responseDeserialize'>, bytes: Buffer) {
    return new Promise<GrpcAnswer>((resolve) => {
      const done = (error: ServiceError | null, message: unknown) =>
        resolve(
          error === null
            ? { code: status.OK, text: `OK ${shown(message)}`, message }
            : { ...error, text: `${status[error.code]} ${error.details}`, message: null },
        );
      const pass = (raw: Buffer) => raw;
      this.client.makeUnaryRequest(path, pass, responseDeserialize, bytes, this.metadata, this.options, done);
    });
  }

  /** Sends requests on one stream and gathers the answers until the server ends it. */
  stream(name: string, requests: readonly object[]): Promise<GrpcAnswer> {
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    const { client, metadata, options } = this;
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, options);
    const message: object[] = [];
    return new Promise((resolve) => {
      call.on('data', (answer: object) => {
        if (message.push(answer) > requests.length + MOST_STRAY_ANSWERS) call.cancel();
      });
      call.on('error', () => {});
      call.on('status', ({ code, details }) =>
        resolve({ code, text: `${status[code]} ${details}`, message }),
      );
      for (const request of requests) call.write(request);
      call.end();
    });
  }

  close(): void {
    this.opened?.close();
  }

  private get client(): Client {
    const { grpc, url } = this.endpoint;
    if (grpc === null) skip('no --grpc HOST:PORT');
    const secure = url.protocol === 'https:';
    this.opened ??= new Client(grpc, secure ? credentials.createSsl() : credentials.createInsecure(), {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
      'grpc.enable_retries': 0,
      'grpc.use_local_subchannel_pool': 1,
      ...this.channel,
    });
    return this.opened;
  }

  private get options() {
    return { deadline: Date.now() + this.endpoint.timeoutMs };
  }

  private get metadata(): Metadata {
    const metadata = new Metadata();
    if (this.endpoint.token !== undefined) metadata.set('authorization', `Bearer ${this.endpoint.token}`);
    return metadata;
  }
}
