import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { PROTOCOL_FILE } from '../../../src/live/frontend/grpc/protocol.js';

const SERVICE = loadSync(PROTOCOL_FILE, { keepCase: true, longs: String, defaults: true, oneofs: true })[
  'inference.GRPCInferenceService'
] as unknown as Record<string, MethodDefinition<object, object>>;

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Loose = any;

/** The message of a ModelInfer. */
export function serializeInfer(request: object): Buffer {
  return SERVICE.ModelInfer.requestSerialize(request);
}

/** A client of the frontend, as its users write them. */
export class GrpcClient {
  private readonly client: Client;

  constructor(port: number, tls: ChannelCredentials = credentials.createInsecure()) {
    this.client = new Client(`localhost:${port}`, tls);
  }

  call(
    method: string,
    request: object,
    headers: Record<string, string> = {},
    options: CallOptions = {},
  ): Promise<Loose> {
    return this.callRaw(method, SERVICE[method].requestSerialize(request), headers, options);
  }

  /** Sends bytes in place of a message. */
  callRaw(
    method: string,
    bytes: Buffer,
    headers: Record<string, string> = {},
    options: CallOptions = {},
  ): Promise<unknown> {
    const { path, responseDeserialize } = SERVICE[method];
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: object) =>
        error === null ? resolve(answer) : reject(error);
      this.client.makeUnaryRequest(
        path,
        (raw: Buffer) => raw,
        responseDeserialize,
        bytes,
        metadata,
        options,
        done,
      );
    });
  }

  /** Sends the requests of a ModelStreamInfer, each when the one before has its response; resolves with the last response. */
  stream(...requests: object[]): Promise<Loose> {
    const { path, requestSerialize, responseDeserialize } = SERVICE.ModelStreamInfer;
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    return new Promise((resolve, reject) => {
      call.on('error', reject);
      call.on('data', (response) => {
        const next = requests.shift();
        if (next !== undefined) call.write(next);
        else {
          resolve(response);
          call.end();
        }
      });
      call.write(requests.shift() as object);
    });
  }

  close(): void {
    this.client.close();
  }
}
