import { createRequire } from 'node:module';
import { Client, credentials, type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer, loadSync } from '@grpc/proto-loader';
import { protoPath as HEALTH_FILE } from 'grpc-health-check';
import { afterEach, describe, expect, it } from 'vitest';
import { PROTOCOL_FILE } from '../../../src/live/frontend/grpc/protocol.js';
import { echo, echoModel, FakeService } from './fake-service.js';
import { openGrpc } from './fixtures.js';

const MODELS = [
  echoModel('mlp', true, [['x', 'FP32', [2]]]),
  echoModel('image', true, [['x', 'FP32', [25_000]]]),
];
const OPTIONS = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Loose = any;

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** Of the reflection protocol, which the library does not export. */
const REFLECTION_FILE = createRequire(import.meta.url)
  .resolve('@grpc/reflection')
  .replace(/src[/]index[.]js$/, 'proto/grpc/reflection/v1/reflection.proto');

function definition(file: string, service: string, method: string): MethodDefinition<object, object> {
  return (loadSync(file, OPTIONS)[service] as Loose)[method];
}

async function serve(options = {}) {
  const service = new FakeService(MODELS);
  const frontend = await openGrpc(service, options);
  const client = new Client(`localhost:${frontend.port}`, credentials.createInsecure());
  clients.push(client);
  return { service, client, frontend };
}

/** Sends all messages and resolves with all that comes back. */
function stream(
  client: Client,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<object, object>,
) {
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const got: Loose[] = [];
  call.on('data', (message) => got.push(message));
  const ended = new Promise<Loose[]>((resolve, reject) => {
    call.on('error', reject);
    call.on('end', () => resolve(got));
  });
  return { call, got, ended };
}

function unary(client: Client, method: MethodDefinition<object, object>, request: object): Promise<Loose> {
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, answer?: object) =>
      error === null ? resolve(answer) : reject(error);
    client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, request, done);
  });
}

function request(id: number, values: readonly number[]) {
  return {
    model_name: 'mlp',
    id: `${id}`,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length / 2, 2] }],
    raw_input_contents: [Buffer.from(Float32Array.from(values).buffer)],
  };
}

describe('ModelStreamInfer', () => {
  const METHOD = definition(PROTOCOL_FILE, 'inference.GRPCInferenceService', 'ModelStreamInfer');

  it('answers each request, in their order, whichever is ready first', async () => {
    const { client, service } = await serve();
    service.answer = null;
    const { call, ended } = stream(client, METHOD);
    for (let i = 0; i < 5; i++) call.write(request(i, [i, i]));
    call.end();
    while (service.requests.length < 5) await new Promise(setImmediate);
    for (const each of [...service.requests].reverse()) each.done(echo(each));
    const answers = await ended;
    expect(answers.map(({ error_message }) => error_message)).toEqual(['', '', '', '', '']);
    expect(answers.map(({ infer_response }) => infer_response.id)).toEqual(['0', '1', '2', '3', '4']);
    expect(answers[3].infer_response.raw_output_contents).toEqual([
      Buffer.from(Float32Array.of(3, 3).buffer),
    ]);
  });

  it('ends when the server closes, once its requests are answered', async () => {
    const { client, service, frontend } = await serve();
    service.answer = null;
    const [busy, idle] = [stream(client, METHOD), stream(client, METHOD)];
    for (const { ended } of [busy, idle]) ended.catch(() => {});
    idle.call.write({ model_name: 'other' });
    busy.call.write(request(7, [1, 2]));
    await expect.poll(() => [service.requests.length, idle.got.length]).toEqual([1, 1]);
    const closed = frontend.close(true);
    await expect(idle.ended).rejects.toMatchObject({ code: status.UNAVAILABLE });
    service.requests[0].done(echo(service.requests[0]));
    await expect(busy.ended).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(busy.got).toMatchObject([{ infer_response: { id: '7' } }]);
    await closed;
  });

  it('hears no more of a client than it can have under way', async () => {
    const { client, service } = await serve();
    service.answer = null;
    const { call, ended } = stream(client, METHOD);
    for (let i = 0; i < 200; i++) call.write(request(i, [i, i]));
    call.end();
    while (service.requests.length < 16) await new Promise((resolve) => setTimeout(resolve, 5));
    // Time for more, if it took more.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(service.requests.length).toBe(16);
    for (let answered = 0; answered < 200; ) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      for (; answered < service.requests.length; answered++) {
        const each = service.requests[answered];
        each.done(echo(each));
      }
    }
    expect((await ended).map(({ infer_response }) => Number(infer_response.id))).toEqual(
      Array.from({ length: 200 }, (_, i) => i),
    );
  });
});

describe('grpc.health.v1', () => {
  const CHECK = definition(HEALTH_FILE, 'grpc.health.v1.Health', 'Check');
  const WATCH = definition(HEALTH_FILE, 'grpc.health.v1.Health', 'Watch');

  it('says whether the server is ready, also without the token', async () => {
    const { client, service } = await serve({ token: 's3cret' });
    expect(await unary(client, CHECK, {})).toEqual({ status: 'SERVING' });
    service.notReady = 'no worker is up';
    expect(await unary(client, CHECK, { service: 'inference.GRPCInferenceService' })).toEqual({
      status: 'NOT_SERVING',
    });
    await expect(unary(client, CHECK, { service: 'mlp' })).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('says so again when it changes', async () => {
    const { client, service } = await serve();
    const { path, requestSerialize, responseDeserialize } = WATCH;
    const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {});
    call.on('error', () => {});
    const got: Loose[] = [];
    await new Promise<void>((resolve) => {
      call.on('data', (message) => {
        got.push(message);
        if (got.length === 1) service.notReady = 'draining';
        else resolve();
      });
    });
    call.cancel();
    expect(got).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }]);
  });
});

describe('reflection', () => {
  const INFO = definition(REFLECTION_FILE, 'grpc.reflection.v1.ServerReflection', 'ServerReflectionInfo');

  it.each(['v1', 'v1alpha'])('lists the services and describes them, %s', async (version) => {
    const { client } = await serve();
    const { call, ended } = stream(client, { ...INFO, path: INFO.path.replace('.v1.', `.${version}.`) });
    call.write({ list_services: '' });
    call.write({ file_containing_symbol: 'inference.GRPCInferenceService.ModelInfer' });
    call.write({ file_by_filename: 'nowhere.proto' });
    call.end();
    const [services, file, missing] = await ended;
    expect(services.list_services_response.service).toEqual([
      { name: 'inference.GRPCInferenceService' },
      { name: 'grpc.health.v1.Health' },
    ]);
    expect(missing.error_response).toMatchObject({ error_code: 5 });
    expect(missing.original_request).toMatchObject({ file_by_filename: 'nowhere.proto' });
    // A client that knows nothing but these bytes can call the service.
    const files: Buffer[] = file.file_descriptor_response.file_descriptor_proto;
    const set = Buffer.concat(files.flatMap((bytes) => [Buffer.from([10]), varint(bytes.length), bytes]));
    const described = loadFileDescriptorSetFromBuffer(set, OPTIONS)[
      'inference.GRPCInferenceService'
    ] as Loose;
    expect(Object.keys(described)).toContain('ModelStatistics');
    const ready = await unary(client, described.ModelReady, { name: 'mlp' });
    expect(ready).toEqual({ ready: true });
    const inferred = await unary(client, described.ModelInfer, request(1, [1, 2]));
    // protobuf prescribes the names of the types of a map's entries.
    expect(Buffer.concat(files).includes('ParametersEntry')).toBe(true);
    expect(inferred).toMatchObject({ model_name: 'mlp', outputs: [{ name: 'out-x', shape: ['1', '2'] }] });
  });
});

describe('what clients of other servers ask for', () => {
  const call = (client: Client, method: string, ask: object) =>
    unary(client, definition(PROTOCOL_FILE, 'inference.GRPCInferenceService', method), ask);

  it('is the configuration of a model', async () => {
    const { client } = await serve();
    const { config } = await call(client, 'ModelConfig', { name: 'mlp' });
    expect(config).toMatchObject({
      name: 'mlp',
      backend: 'onnxruntime',
      max_batch_size: 256,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: ['2'] }],
      output: [{ name: 'out-x', data_type: 'TYPE_FP32', dims: ['2'] }],
      dynamic_batching: { preferred_batch_size: [1] },
    });
    await expect(call(client, 'ModelConfig', { name: 'other' })).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
  });

  it('names the largest batch that fits into a request', async () => {
    const { client } = await serve({ maxBodyBytes: 1 << 20 });
    const { config } = await call(client, 'ModelConfig', { name: 'image' });
    const batch = Number(config.max_batch_size);
    expect(batch).toBe(10);
    const rows = (count: number) => ({ name: 'x', datatype: 'FP32', shape: [count, 25_000] });
    const infer = (count: number) => ({
      model_name: 'image',
      inputs: [rows(count)],
      raw_input_contents: [new Uint8Array(count * 100_000)],
    });
    expect((await call(client, 'ModelInfer', infer(batch))).outputs).toMatchObject([{ name: 'out-x' }]);
    await expect(call(client, 'ModelInfer', infer(batch + 1))).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
  });
});

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}
