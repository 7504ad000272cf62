import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';
import { PROTOCOL_FILE } from '../../src/live/frontend/grpc/protocol.js';

export interface GrpcInference {
  readonly model_name: string;
  readonly parameters: Record<string, Record<string, unknown>>;
  readonly inputs: readonly { readonly name: string; readonly datatype: string; readonly shape: number[] }[];
  readonly raw_input_contents: readonly Buffer[];
  readonly authorization: unknown;
  /** Metadata `x-tenant`. */
  readonly tenant: unknown;
}

export interface GrpcServerOptions {
  readonly ready?: boolean;
  readonly shape?: readonly number[];
  readonly inputs?: readonly object[];
  /** The status that an infer request is answered with; −1: not at all. */
  readonly infer?: (inference: GrpcInference) => number | Promise<number>;
}

const SERVICE = loadSync(PROTOCOL_FILE, { keepCase: true, longs: Number, defaults: true })[
  'inference.GRPCInferenceService'
] as ServiceDefinition;

/** An Open Inference server over gRPC that has models a and b; gone when the test ends. */
export class GrpcServer {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open({
    ready = true,
    shape = [-1, 3],
    inputs = [{ name: 'x', datatype: 'FP32', shape }],
    infer,
  }: GrpcServerOptions = {}): Promise<GrpcServer> {
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    const models = ['a', 'b'];
    const handlers: Record<string, handleUnaryCall<unknown, unknown>> = {
      ServerReady: (_, done) => done(null, { ready }),
      RepositoryIndex: (_, done) => done(null, { models: models.map((name) => ({ name })) }),
      ModelMetadata: ({ request }, done) => {
        const { name } = request as { name: string };
        if (models.includes(name)) done(null, { inputs });
        else done({ code: status.NOT_FOUND, details: 'no such model' });
      },
      ModelInfer: async ({ request, metadata }, done) => {
        const [authorization] = metadata.get('authorization');
        const [tenant] = metadata.get('x-tenant');
        const code = (await infer?.({ ...(request as GrpcInference), authorization, tenant })) ?? status.OK;
        if (code === status.OK) done(null, {});
        else if (code > 0) done({ code, details: 'as the test wants' });
      },
    };
    server.addService(SERVICE, handlers);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const opened = new GrpcServer(server, `grpc://127.0.0.1:${port}`);
    onTestFinished(() => opened.die());
    return opened;
  }

  die(): void {
    this.server.forceShutdown();
  }
}
