import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Defect, described, INPUTS, Mistake, NAME, OUTPUTS, twice, type Values } from './model.js';

// biome-ignore lint/suspicious/noExplicitAny: whatever clients send
type Loose = any;

const EXTENSIONS = [
  'binary_tensor_data',
  'statistics',
  'model_configuration',
  'model_repository',
  'classification',
];

/**
 * A small HTTP server of the protocol, written apart from ours, and right but for its `defect`. Resolves with its
 * port.
 */
export async function openSmallServer(defect: Defect = ''): Promise<number> {
  const state = { loaded: true, inferences: 0, last: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => respond(request, response, Buffer.concat(chunks), state, defect));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function extensionsOf(defect: Defect): unknown {
  if (defect === 'no-list') return 'none';
  return defect.includes('announces-nothing') ? [] : EXTENSIONS;
}

class TooMany extends Error {}

interface State {
  loaded: boolean;
  inferences: number;
  last: number;
}

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  state: State,
  defect: Defect,
) {
  const target = request.url!.replace(/^http:\/\/[^/]*/, '');
  try {
    const method = request.method === 'HEAD' ? 'GET' : request.method!;
    if (defect === 'wants-token') return send(response, 401, { error: 'no token' });
    if (method === 'OPTIONS') return send(response, 200, {}, { allow: 'GET, POST' });
    const path = decodeURIComponent(target).replace(/\/$/, '');
    const answer = route(method, path, body, request, state, defect);
    if (answer instanceof Buffer) sendBinary(response, answer);
    else send(response, 200, answer);
  } catch (error) {
    if (error instanceof TooMany) {
      const headers: Record<string, string> = defect === 'no-retry' ? {} : { 'retry-after': '1' };
      const error = defect === 'limits' ? 'over its rate' : 'too many requests';
      return send(response, defect === 'forbids' ? 403 : 429, { error }, headers);
    }
    const known = error instanceof Mistake || error instanceof URIError || error instanceof SyntaxError;
    const status = defect === 'blames-itself' ? 500 : known ? 400 : 500;
    if (defect === 'plain-errors') response.writeHead(status, { 'content-type': 'text/plain' }).end('no');
    else if ((error as Error).message === '404') send(response, 404, { error: 'there is no such path' });
    else send(response, status, { error: (error as Error).message });
  }
}

function send(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

function sendBinary(response: ServerResponse, body: Buffer) {
  const length = body.readUInt32LE();
  const headers = {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(length),
  };
  response.writeHead(200, headers).end(body.subarray(4));
}

function route(
  method: string,
  path: string,
  body: Buffer,
  request: IncomingMessage,
  state: State,
  defect: Defect,
) {
  const key = `${method} ${path}`;
  if (key === 'GET /v2/health/live') return { live: true };
  if (key === 'GET /v2/health/ready') return { ready: true };
  if (key === 'GET /v2')
    return {
      name: defect === 'escapes' ? 'small\u001b[2J\u009b2J\u202e' : 'small',
      version: '1',
      extensions: extensionsOf(defect),
    };
  if (key === 'GET /v2/models/stats') return { model_stats: [statistics(state, defect)] };
  if (key === 'POST /v2/repository/index') {
    const { ready = false } = body.length === 0 ? {} : JSON.parse(body.toString());
    const shown = !ready || state.loaded || defect === 'index-lists-all';
    return shown
      ? [{ name: NAME, version: '1', state: state.loaded ? 'READY' : 'UNAVAILABLE', reason: '' }]
      : [];
  }
  const control = /^POST \/v2\/repository\/models\/(.*)\/(load|unload)$/.exec(key);
  if (control !== null) {
    if (control[1] !== NAME && defect !== 'loads-anything') throw new Mistake(`no model ${control[1]}`);
    state.loaded = control[2] === 'load' || defect === 'unload-does-nothing';
    return {};
  }
  const model = /^(\w+) \/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/(infer|ready|stats|config))?$/.exec(
    key,
  );
  if (model === null) throw new Error('404');
  const [, verb, name, version = '1', what = ''] = model;
  if (name !== NAME && defect !== 'any-model') throw new Mistake(`no model ${name}`);
  if (version !== '1' && defect !== 'any-version') throw new Mistake(`no version ${version}`);
  if (what === 'infer' && verb === 'POST') return infer(body, request, state, defect);
  if (verb !== 'GET' || what === 'infer') throw new Error('404');
  if (what === 'ready') {
    if (!state.loaded) throw new Mistake('it is not loaded');
    return { name: NAME, ready: true };
  }
  if (what === 'stats') return { model_stats: [statistics(state, defect)] };
  if (what === 'config') return configuration(defect);
  const [inputs, outputs] = [INPUTS, OUTPUTS].map((tensors) => described(tensors, defect));
  return { name: NAME, versions: ['1'], platform: 'small_test', inputs, outputs };
}

function configuration(defect: Defect) {
  const of = ({ name, datatype, shape }: (typeof INPUTS)[number]) => ({
    name,
    data_type: defect.includes('config-types') ? datatype : `TYPE_${datatype}`,
    dims: shape.slice(1),
  });
  return { name: NAME, max_batch_size: 8, input: INPUTS.map(of), output: OUTPUTS.map(of) };
}

function statistics({ inferences, last }: State, defect: Defect) {
  const count = defect.includes('counts-nothing') ? 0 : inferences;
  const duration = { count, ns: 1000 * count };
  const compute = { compute_input: duration, compute_infer: duration, compute_output: duration };
  return {
    ...{ name: NAME, version: '1', last_inference: last, inference_count: count, execution_count: count },
    inference_stats: { success: duration, fail: { count: 0, ns: 0 }, queue: duration, ...compute },
    batch_stats: defect === 'batch-text' ? 'none' : [{ batch_size: 1, ...compute }],
  };
}

function infer(body: Buffer, request: IncomingMessage, state: State, defect: Defect): unknown {
  if (!state.loaded) throw new Mistake('it is not loaded');
  const length = request.headers['inference-header-content-length'];
  const head = length === undefined ? body.length : Number(length);
  if (!Number.isInteger(head) || head > body.length) throw new Mistake('the header length');
  const json = JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(body.subarray(0, head)));
  if (!Array.isArray(json?.inputs)) throw new Mistake('"inputs" is missing');
  if (typeof (json.id ?? '') !== 'string') throw new Mistake('"id" is no text');
  if (['limits', 'busy'].includes(defect) && json.id === '7') throw new TooMany();
  checkSender(json.parameters?.priority ?? 0, request.headers['x-tenant'], state, defect);
  const inputs = read(json.inputs, body.subarray(head), defect);
  const outputs = twice(inputs, defect);
  state.inferences += outputs[0]!.shape[0]!;
  state.last = 1_700_000_000_000;
  const asked: Loose[] = json.outputs ?? OUTPUTS;
  const chosen = defect === 'all-outputs' ? OUTPUTS : asked;
  const parts: Buffer[] = [];
  const all = json.parameters?.binary_data_output === true;
  const shown = [...new Map(chosen.map((each) => [each.name, each])).values()].map(
    ({ name, parameters }: Loose) => {
      const output = outputs.find((each) => each.name === name);
      if (output === undefined) throw new Mistake(`no output ${name}`);
      if (parameters?.classification !== undefined) return classes(output, parameters.classification, defect);
      const { data, ...described } = output;
      if (!(parameters?.binary_data ?? all) || defect === 'never-binary') return { ...described, data };
      const bytes = encode(output, defect);
      parts.push(bytes);
      return { ...described, parameters: { binary_data_size: bytes.length } };
    },
  );
  const id = defect === 'no-id' ? {} : { id: defect === 'wrong-id' ? '0' : (json.id ?? undefined) };
  const answer = { model_name: defect === 'no-name' ? '' : NAME, model_version: '1', ...id, outputs: shown };
  if (parts.length === 0) return answer;
  const text = Buffer.from(JSON.stringify(answer));
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(text.length);
  return Buffer.concat([prefix, text, ...parts]);
}

/** Priorities 1 and 2 mean something, and the tenant "small" may send 40 requests. */
function checkSender(priority: number, tenant: unknown, state: State, defect: Defect) {
  if (priority > 2 && defect !== 'any-priority')
    throw new Mistake(defect === 'no-reason' ? 'no' : `priority ${priority} is unknown`);
  if (tenant === 'small' && state.inferences > 40) throw new TooMany();
  if (tenant !== undefined && tenant !== 'small' && defect === 'wants-tenant')
    throw new Mistake('no such tenant');
}

function read(inputs: Loose[], rest: Buffer, defect: Defect): Values[] {
  let at = 0;
  const values = inputs.map(({ parameters, ...input }: Loose) => {
    const size = parameters?.binary_data_size;
    if (typeof input.name !== 'string') throw new Mistake('an input without a name');
    if (size === undefined) {
      const data = Array.isArray(input.data) ? input.data.flat(defect === 'flat-only' ? 0 : 9) : input.data;
      return { ...input, data };
    }
    const bytes = rest.subarray(at, at + size);
    at += size;
    if (!(size >= 0) || bytes.length !== size) throw new Mistake('binary_data_size');
    if (bytes.length % (input.datatype === 'FP32' ? 4 : 8) !== 0) throw new Mistake('binary_data_size');
    return { ...input, data: decode(bytes, input.datatype) };
  });
  if (at !== rest.length && defect !== 'spare-bytes') throw new Mistake('bytes are left');
  return values;
}

function decode(bytes: Buffer, datatype: string): number[] {
  const size = datatype === 'FP32' ? 4 : 8;
  return Array.from({ length: bytes.length / size }, (_, i) =>
    size === 4 ? bytes.readFloatLE(4 * i) : Number(bytes.readBigInt64LE(8 * i)),
  );
}

function encode({ datatype, data }: Values, defect: Defect): Buffer {
  const size = datatype === 'FP32' ? 4 : 8;
  const bytes = Buffer.alloc(data.length * size);
  for (const [i, value] of data.entries()) {
    if (size === 8) bytes.writeBigInt64LE(BigInt(value), 8 * i);
    else if (defect === 'big-endian') bytes.writeFloatBE(value, 4 * i);
    else bytes.writeFloatLE(value, 4 * i);
  }
  return bytes;
}

function classes({ name, data }: Values, count: number, defect: Defect) {
  if (!(count > 0)) throw new Mistake('classification');
  const order = data.map((value, i) => ({ value, i })).sort((a, b) => b.value - a.value);
  const ranked = defect === 'lowest-classes' ? order.reverse() : order;
  const texts = ranked.slice(0, count).map(({ value, i }) => `${value.toFixed(6)}:${i}`);
  return { name, datatype: 'BYTES', shape: [1, count], data: texts };
}
