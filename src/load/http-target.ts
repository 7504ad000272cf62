import { EscapementError } from '../base/errors.js';
import { MIB } from '../base/units.js';
import { jsonOfBytes } from '../live/frontend/json-text.js';
import { bytesOfTexts, textsOf } from '../live/texts.js';
import { describeHttpServer, modelPath } from './http-api.js';
import type { Address } from './http-connection.js';
import { HttpPool } from './http-pool.js';
import { plainLine } from './reply.js';
import { assumptions, type RequestSpec, requestMakers } from './request-makers.js';
import type { Sender, SenderTemplates } from './senders.js';
import type { Done, LoadTarget, TargetOptions } from './target.js';
import { RequestTemplate } from './template.js';
import type { InputTensor } from './tensors.js';

/** An input becomes up to ten times as long as JSON. */
const MOST_JSON_TENSOR_BYTES = 32 * MIB;
/** Each carries one request at a time. */
const DEFAULT_CONNECTIONS = 256;

/**
 * A server of the Open Inference Protocol over HTTP/1.1: `http://HOST:PORT`, or `https:`. Tensors are sent as
 * bytes if the server accepts that, else as JSON. Throws `E_SERVER` if the server cannot be used and `E_UNKNOWN_MODEL`
 * if it lacks a model.
 */
export async function openHttpTarget(url: URL, options: TargetOptions): Promise<LoadTarget> {
  const base = baseOf(url);
  const { binary, models } = await describeHttpServer(base, options);
  const templates = requestMakers(base.origin, options, models, (spec) => {
    const path = new URL(`${modelPath(spec.model, spec.version)}/infer`, base).pathname;
    const head = `${headText(base, 'POST', path, options.token)}${tenantLine(options, spec.sender)}`;
    return binary ? binaryTemplate(head, spec) : jsonTemplate(head, spec);
  });
  return new HttpTarget(
    base.origin,
    assumptions(options, models),
    templates,
    new HttpPool(addressOf(base, options), options.connections ?? DEFAULT_CONNECTIONS),
    Buffer.from(`${headText(base, 'GET', new URL('v2/health/live', base).pathname, options.token)}\r\n`),
  );
}

class HttpTarget implements LoadTarget {
  constructor(
    readonly name: string,
    readonly assumed: readonly string[],
    private readonly templates: readonly SenderTemplates[],
    private readonly pool: HttpPool,
    private readonly isAlive: Buffer,
  ) {}

  get waited(): number {
    return this.pool.waited;
  }

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
    this.pool.send(this.templates[model].of(requestClass, tenant, length).encode(sloNs), done);
  }

  ping(done: Done): void {
    this.pool.send({ head: this.isAlive, tail: null }, done);
  }

  dropUnsent(): number {
    return this.pool.dropUnsent();
  }

  close(): void {
    this.pool.close();
  }
}

/** The address of a server, to which paths can be added. */
export function baseOf(url: URL): URL {
  return new URL(url.pathname.endsWith('/') ? url.href : `${url.href}/`);
}

function addressOf(base: URL, { ca, insecure, keptBytes }: TargetOptions): Address {
  const secure = base.protocol === 'https:';
  const host = base.hostname.replace(/^\[|\]$/g, '');
  const port = base.port === '' ? (secure ? 443 : 80) : Number(base.port);
  const address = { host, port, ...(keptBytes === undefined ? {} : { keptBytes }) };
  if (!secure) return address;
  return { ...address, tls: { ...(ca === undefined ? {} : { ca }), insecure: insecure === true } };
}

function headText(base: URL, method: 'GET' | 'POST', path: string, token: string | undefined): string {
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: ${base.host}\r\n${authorization}`;
}

function tenantLine({ senders }: TargetOptions, { tenant }: Sender): string {
  return tenant === null || senders === undefined ? '' : `${senders.header}: ${tenant}\r\n`;
}

function parametersOf({ priority }: Sender): { readonly priority?: number } {
  return priority === null ? {} : { priority };
}

/** JSON that tells the shapes, then the bytes of all inputs (the protocol's binary tensor data extension). */
function binaryTemplate(head: string, { sender, tensors, shared }: RequestSpec): RequestTemplate {
  const inputs = tensors.map(({ name, datatype, shape, data, parameters }) => ({
    name,
    datatype,
    shape,
    parameters: { ...parameters, binary_data_size: data.length },
  }));
  const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
  const tail = sharedTail(shared, key, () => Buffer.concat(tensors.map(({ data }) => data)));
  return new RequestTemplate((sloMs) => {
    const json = JSON.stringify({
      parameters: { slo_ms: sloMs, ...parametersOf(sender), binary_data_output: true },
      inputs,
    });
    const jsonBytes = Buffer.byteLength(json);
    return Buffer.from(
      `${head}content-type: application/octet-stream\r\ninference-header-content-length: ${jsonBytes}\r\n` +
        `content-length: ${jsonBytes + tail.length}\r\n\r\n${json}`,
    );
  }, tail);
}

function jsonTemplate(head: string, { model, sender, tensors, shared }: RequestSpec): RequestTemplate {
  const key = JSON.stringify(tensors.map(({ data, ...rest }) => rest));
  const tail = sharedTail(shared, key, () =>
    Buffer.from(`"inputs":[${tensors.map((tensor) => jsonTensor(model, tensor)).join(',')}]}`),
  );
  return new RequestTemplate((sloMs) => {
    const json = `{"parameters":${JSON.stringify({ slo_ms: sloMs, ...parametersOf(sender) })},`;
    return Buffer.from(
      `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json) + tail.length}\r\n\r\n${json}`,
    );
  }, tail);
}

/** Throws `E_SERVER` for what JSON cannot represent. */
function jsonTensor(model: string, { data, ...tensor }: InputTensor): string {
  const { name, datatype } = tensor;
  const refuse = (what: string, instead: string) =>
    new EscapementError(
      'E_SERVER',
      `model ${model}: input ${plainLine(name)} ${what}, and the server accepts only JSON: use ${instead}`,
    );
  if (datatype === 'FP16') throw refuse('is of type FP16, which JSON cannot represent', 'gRPC');
  if (datatype === 'BYTES' && !data.equals(bytesOfTexts(textsOf(data))))
    throw refuse('is not UTF-8, which JSON cannot represent', 'gRPC');
  if (data.length > MOST_JSON_TENSOR_BYTES)
    throw refuse(`has ${data.length} bytes`, 'gRPC or a smaller model');
  return `${JSON.stringify(tensor).slice(0, -1)},"data":[${jsonOfBytes(datatype, data)}]}`;
}

function sharedTail(tails: Map<string, Buffer>, key: string, make: () => Buffer): Buffer {
  const known = tails.get(key);
  if (known !== undefined) return known;
  const made = make();
  tails.set(key, made);
  return made;
}
