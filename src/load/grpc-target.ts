import type { OutgoingHttpHeaders } from 'node:http2';
import { describeGrpcServer, encodeInfer, INFER_PATH, LIVE_PATH } from './grpc-api.js';
import { GrpcConnection, PREFIX_BYTES } from './grpc-connection.js';
import { assumptions, type RequestSpec, requestMakers } from './request-makers.js';
import type { SenderTemplates } from './senders.js';
import type { Done, LoadTarget, TargetOptions } from './target.js';
import { RequestTemplate } from './template.js';
import type { Parameter } from './tensors.js';

/** One carries any number of requests at a time, and writes those of the same instant together. */
const DEFAULT_CONNECTIONS = 1;

/**
 * A server of the Open Inference Protocol over gRPC: `grpc://HOST:PORT`, or `grpcs:` for TLS. Throws `E_SERVER`
 * where the server cannot be used and `E_UNKNOWN_MODEL` where it lacks a model.
 */
export async function openGrpcTarget(url: URL, options: TargetOptions): Promise<LoadTarget> {
  const description = await describeGrpcServer(url, options);
  const name = `${url.protocol}//${url.host}`;
  const templates = requestMakers(name, options, description.models, (spec) => {
    const { tensors, shared } = spec;
    const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
    const tail = shared.get(key) ?? encodeInfer({ raw_input_contents: tensors.map(({ data }) => data) });
    shared.set(key, tail);
    return new RequestTemplate((sloMs) => headOf(sloMs, spec, tail.length), tail);
  });
  return new GrpcTarget(
    name,
    assumptions(options, description.models),
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
    readonly assumed: readonly string[],
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
function headOf(sloMs: number, { model, version, sender, tensors }: RequestSpec, tailBytes: number): Buffer {
  const { priority } = sender;
  const message = encodeInfer({
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
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length + tailBytes, 1);
  return Buffer.concat([prefix, message]);
}

function parametersOf(parameters: Readonly<Record<string, Parameter>>): object {
  return Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, choiceOf(value)]));
}

function choiceOf(value: Parameter): object {
  if (typeof value === 'string') return { string_param: value };
  if (typeof value === 'boolean') return { bool_param: value };
  return Number.isInteger(value) ? { int64_param: value } : { double_param: value };
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
