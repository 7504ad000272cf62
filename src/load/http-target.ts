import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { MIB } from '../base/units.js';
import { jsonOfBytes } from '../live/frontend/json-text.js';
import { lengthFor } from './description.js';
import { describeHttpServer } from './http-api.js';
import type { Address } from './http-connection.js';
import { HttpPool } from './http-pool.js';
import { payloadTensors } from './payload-tensors.js';
import { plainLine } from './reply.js';
import { type Sender, SenderTemplates } from './senders.js';
import type { Done, LoadTarget, TargetOptions } from './target.js';
import { RequestTemplate, TemplateCycle } from './template.js';
import { type InputTensor, TensorMaker } from './tensors.js';

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
  const maker = new TensorMaker(stream(options.seed, 'load-tensors'));
  const tails = new Map<string, Buffer>();
  const templates = options.models.map((model, i) => {
    const path = new URL(`v2/models/${encodeURIComponent(model)}/infer`, base).pathname;
    const head = headText(base, 'POST', path, options.token);
    const { inputs } = models[i];
    const payloads = (options.payloads?.(model) ?? []).map((file) => ({
      tensors: payloadTensors(file, model, inputs),
      shared: new Map<string, Buffer>(),
    }));
    const lengthOf = (asked: number) => (payloads.length === 0 ? lengthFor(models[i], asked) : 0);
    return new SenderTemplates(
      lengthOf,
      (sender, length) => {
        const named = { head: `${head}${tenantLine(options, sender)}`, parameters: parametersOf(sender) };
        const template = (tensors: readonly InputTensor[], shared: Map<string, Buffer>) =>
          binary ? binaryTemplate(named, tensors, shared) : jsonTemplate(named, model, tensors, shared);
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
  return new HttpTarget(
    base.origin,
    templates,
    new HttpPool(addressOf(base, options), options.connections ?? DEFAULT_CONNECTIONS),
    Buffer.from(`${headText(base, 'GET', new URL('v2/health/live', base).pathname, options.token)}\r\n`),
  );
}

class HttpTarget implements LoadTarget {
  constructor(
    readonly name: string,
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

/** What requests of one sender begin with. */
interface Named {
  readonly head: string;
  readonly parameters: { readonly priority?: number };
}

function tenantLine({ senders }: TargetOptions, { tenant }: Sender): string {
  return tenant === null || senders === undefined ? '' : `${senders.header}: ${tenant}\r\n`;
}

function parametersOf({ priority }: Sender): Named['parameters'] {
  return priority === null ? {} : { priority };
}

/** JSON that tells the shapes, then the bytes of all inputs (the protocol's binary tensor data extension). */
function binaryTemplate(
  { head, parameters }: Named,
  tensors: readonly InputTensor[],
  tails: Map<string, Buffer>,
): RequestTemplate {
  const inputs = tensors.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape,
    parameters: { binary_data_size: data.length },
  }));
  const key = tensors.map(({ datatype, data }) => `${datatype} ${data.length}`).join();
  const tail = shared(tails, key, () => Buffer.concat(tensors.map(({ data }) => data)));
  return new RequestTemplate((sloMs) => {
    const json = JSON.stringify({
      parameters: { slo_ms: sloMs, ...parameters, binary_data_output: true },
      inputs,
    });
    const jsonBytes = Buffer.byteLength(json);
    return Buffer.from(
      `${head}content-type: application/octet-stream\r\ninference-header-content-length: ${jsonBytes}\r\n` +
        `content-length: ${jsonBytes + tail.length}\r\n\r\n${json}`,
    );
  }, tail);
}

function jsonTemplate(
  { head, parameters }: Named,
  model: string,
  tensors: readonly InputTensor[],
  tails: Map<string, Buffer>,
): RequestTemplate {
  const key = JSON.stringify(tensors.map(({ name, datatype, shape }) => [name, datatype, shape]));
  const tail = shared(tails, key, () => {
    const inputs = tensors.map(({ name, datatype, shape, data }) => {
      if (datatype === 'FP16') {
        const what = `model ${model}: input ${name} is of type FP16, which JSON cannot represent, and the server accepts only JSON`;
        throw new EscapementError('E_SERVER', `${what}: use gRPC`);
      }
      if (data.length > MOST_JSON_TENSOR_BYTES) {
        const what = `model ${model}: input ${plainLine(name)} has ${data.length} bytes, and the server accepts only JSON`;
        throw new EscapementError('E_SERVER', `${what}: use gRPC or a smaller model`);
      }
      return `${JSON.stringify({ name, datatype, shape }).slice(0, -1)},"data":[${jsonOfBytes(datatype, data)}]}`;
    });
    return Buffer.from(`"inputs":[${inputs.join(',')}]}`);
  });
  return new RequestTemplate((sloMs) => {
    const json = `{"parameters":${JSON.stringify({ slo_ms: sloMs, ...parameters })},`;
    return Buffer.from(
      `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json) + tail.length}\r\n\r\n${json}`,
    );
  }, tail);
}

function shared(tails: Map<string, Buffer>, key: string, make: () => Buffer): Buffer {
  const known = tails.get(key);
  if (known !== undefined) return known;
  const made = make();
  tails.set(key, made);
  return made;
}
