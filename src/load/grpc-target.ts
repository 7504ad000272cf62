import type { OutgoingHttpHeaders } from 'node:http2';
import { stream } from '../base/random/streams.js';
import { lengthFor } from './description.js';
import { describeGrpcServer, encodeInfer, INFER_PATH, LIVE_PATH } from './grpc-api.js';
import { GrpcConnection, PREFIX_BYTES } from './grpc-connection.js';
import { payloadTensors } from './payload-tensors.js';
import { type Sender, SenderTemplates } from './senders.js';
import type { Done, LoadTarget, TargetOptions } from './target.js';
import { RequestTemplate, TemplateCycle } from './template.js';
import { type InputTensor, TensorMaker } from './tensors.js';

/** One carries any number of requests at a time, and writes those of the same instant together. */
const DEFAULT_CONNECTIONS = 1;

/**
 * A server of the Open Inference Protocol over gRPC: `grpc://HOST:PORT`, or `grpcs:` for TLS. Throws `E_SERVER`
 * where the server cannot be used and `E_UNKNOWN_MODEL` where it lacks a model.
 */
export async function openGrpcTarget(url: URL, options: TargetOptions): Promise<LoadTarget> {
  const description = await describeGrpcServer(url, options);
  const maker = new TensorMaker(stream(options.seed, 'load-tensors'));
  const tails = new Map<string, Buffer>();
  const templates = options.models.map((model, i) => {
    const { inputs } = description.models[i];
    const payloads = (options.payloads?.(model) ?? []).map((file) => ({
      tensors: payloadTensors(file, model, inputs),
      shared: new Map<string, Buffer>(),
    }));
    const lengthOf = (asked: number) => (payloads.length === 0 ? lengthFor(description.models[i], asked) : 0);
    return new SenderTemplates(
      lengthOf,
      (sender, length) => {
        const template = (tensors: readonly InputTensor[], shared: Map<string, Buffer>) => {
          const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
          const tail =
            shared.get(key) ?? encodeInfer({ raw_input_contents: tensors.map(({ data }) => data) });
          shared.set(key, tail);
          return new RequestTemplate((sloMs) => headOf(model, sloMs, sender, tensors, tail.length), tail);
        };
        if (payloads.length === 0) {
          const random = maker.inputs(model, inputs, options.rows?.[i], length || 1);
          // Those of one length are shared by all models; others are rarely the same, and too many to be kept.
          return template(random, length === 0 ? tails : new Map());
        }
        return new TemplateCycle(payloads.map(({ tensors, shared }) => template(tensors, shared)));
      },
      options.senders,
    );
  });
  return new GrpcTarget(
    `${url.protocol}//${url.host}`,
    openConnections(url, options, INFER_PATH),
    templates,
    tenantHeaders(options),
    openConnections(url, { ...options, connections: 1 }, LIVE_PATH)[0],
  );
}

class GrpcTarget implements LoadTarget {
  /** Requests share connections: none waits for one. */
  readonly waited = 0;
  private next = 0;

  constructor(
    readonly name: string,
    private readonly connections: readonly GrpcConnection[],
    private readonly templates: readonly SenderTemplates[],
    /** Of the calls of each tenant; empty: there are none. */
    private readonly headers: readonly OutgoingHttpHeaders[],
    private readonly pings: GrpcConnection,
  ) {}

  send(
    model: number,
    sloNs: number,
    _user: number,
    _arrivalNs: number,
    done: Done,
    requestClass = 0,
    tenant = 0,
    length = 0,
  ): void {
    const message = this.templates[model].of(requestClass, tenant, length).encode(sloNs);
    this.connections[this.next].send(message, done, this.headers[tenant]);
    this.next = (this.next + 1) % this.connections.length;
  }

  ping(done: Done): void {
    this.pings.send({ head: Buffer.alloc(PREFIX_BYTES), tail: null }, done);
  }

  dropUnsent(): number {
    return this.connections.reduce((sum, connection) => sum + connection.dropUnsent(), 0);
  }

  close(): void {
    for (const connection of [...this.connections, this.pings]) connection.close();
  }
}

/** All of a request but its tensors. */
function headOf(
  model: string,
  sloMs: number,
  { priority }: Sender,
  tensors: readonly InputTensor[],
  tailBytes: number,
): Buffer {
  const message = encodeInfer({
    model_name: model,
    parameters: {
      slo_ms: Number.isInteger(sloMs) ? { int64_param: sloMs } : { double_param: sloMs },
      ...(priority === null ? {} : { priority: { int64_param: priority } }),
    },
    inputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
  });
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length + tailBytes, 1);
  return Buffer.concat([prefix, message]);
}

function openConnections(url: URL, options: TargetOptions, path: string): GrpcConnection[] {
  const { connections, ca, insecure, keptBytes } = options;
  const authority = `${url.protocol === 'grpcs:' ? 'https' : 'http'}://${url.host}`;
  const tls = { ...(ca === undefined ? {} : { ca }), rejectUnauthorized: insecure !== true };
  return Array.from(
    { length: connections ?? DEFAULT_CONNECTIONS },
    () => new GrpcConnection(authority, tls, headersOf(path, options), keptBytes),
  );
}

function headersOf(path: string, { token }: TargetOptions): OutgoingHttpHeaders {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function tenantHeaders(options: TargetOptions): OutgoingHttpHeaders[] {
  const { header = null, tenants = [] } = options.senders ?? {};
  return header === null
    ? []
    : tenants.map((tenant) => ({ ...headersOf(INFER_PATH, options), [header]: tenant }));
}
