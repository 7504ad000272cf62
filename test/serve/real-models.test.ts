import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import type { WorkerModel } from '../../src/live/model.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { openSession } from '../../src/live/ort/open-session.js';
import { repositoryModels } from '../../src/serve/prepare-model.js';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { CPU, ELEMENT_TYPES, identityModel, tempDir } from '../live/models/fixtures.js';
import { expectReplay, PAGE_BYTES, putMeasured, type Running, serve } from './fixtures.js';

const BATCH_SIZES = [1, 2, 4];

/** A repository of small models with their profiles; the tensors of one are so large that threads hand them over. */
const repository = tempDir();
const MODELS = {
  mlp: makeModel('mlp', { input: 32, seed: 5, classes: 10 }).onnx,
  'mobilenet-v2': makeModel('mobilenet-v2', { input: 32, seed: 5, classes: 10 }).onnx,
  large: identityModel(ELEMENT_TYPES.FP32, ['n', 20_000]),
};
const NAMES = Object.keys(MODELS);
const direct = new Map<string, InferenceSession>();
let models: readonly WorkerModel[];

beforeAll(async () => {
  for (const [name, onnx] of Object.entries(MODELS)) {
    await putMeasured(repository, name, onnx, `batchSizes: [${BATCH_SIZES}]\nslo: 5s\n`);
    direct.set(name, await openSession(onnx, CPU, { level: 'all' }));
  }
  models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {
    throw new Error('all models have profiles');
  });
});

afterAll(async () => {
  for (const session of direct.values()) await session.release();
});

const start = (policy: string) =>
  serve({ devices: [CPU], models, pages: 20 }, ['slo=20s', `policy={kind: ${policy}}`]);

/** One request's input of a model: element `i` of the input of request `number`. */
function inputOf(running: Running, name: string, number: number): Float32Array<ArrayBuffer> {
  const { inputs } = signatureOf(running, name);
  const random = stream(number, `inputs/${name}`);
  return Float32Array.from({ length: inputs[0].bytes / 4 }, () => random() * 2 - 1);
}

function signatureOf({ server }: Running, name: string) {
  const model = server.controller.state.entries.find((entry) => entry.name === name)?.model;
  if (model === undefined || model === null) throw new Error(`no model ${name}`);
  return model.signature;
}

/** What onnxruntime itself makes of a batch that is filled up with zeros: the outputs of its first requests. */
async function runDirectly(
  running: Running,
  name: string,
  batchSize: number,
  rows: readonly (Float32Array | null)[],
): Promise<Float32Array[]> {
  const { inputs, outputs } = signatureOf(running, name);
  const elements = inputs[0].bytes / 4;
  const batch = new Float32Array(batchSize * elements);
  for (const [i, row] of rows.entries()) if (row !== null) batch.set(row, i * elements);
  const tensor = new Tensor('float32', batch, [batchSize, ...inputs[0].shape]);
  const session = direct.get(name) as InferenceSession;
  const all = (await session.run({ [inputs[0].name]: tensor }))[outputs[0].name].data as Float32Array;
  const classes = outputs[0].bytes / 4;
  return rows.map((_, i) => all.slice(i * classes, (i + 1) * classes));
}

interface Reply {
  readonly batchSize: number;
  readonly outputs: Float32Array;
}

function concatenated(rows: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  return Float32Array.from(rows.flatMap((row) => [...row]));
}

/** One call over HTTP with the tensors as JSON. */
async function askInJson(running: Running, name: string, rows: readonly Float32Array[]): Promise<Reply> {
  const { inputs } = signatureOf(running, name);
  const shape = [rows.length, ...inputs[0].shape];
  const tensor = { name: inputs[0].name, datatype: 'FP32', shape, data: [...concatenated(rows)] };
  const { status, json } = await running.http.post(`/v2/models/${name}/infer`, { inputs: [tensor] });
  expect([status, json.error]).toEqual([200, undefined]);
  return { batchSize: json.parameters.batch_size, outputs: Float32Array.from(json.outputs[0].data) };
}

/** The same with the tensors as bytes. */
async function askInBinary(running: Running, name: string, rows: readonly Float32Array[]): Promise<Reply> {
  const { inputs } = signatureOf(running, name);
  const data = Buffer.from(concatenated(rows).buffer);
  const tensor = {
    name: inputs[0].name,
    datatype: 'FP32',
    shape: [rows.length, ...inputs[0].shape],
    parameters: { binary_data_size: data.length },
  };
  const head = Buffer.from(JSON.stringify({ inputs: [tensor], parameters: { binary_data_output: true } }));
  const { status, headers, bytes, text } = await running.http.post(
    `/v2/models/${name}/infer`,
    Buffer.concat([head, data]),
    { 'inference-header-content-length': String(head.length) },
  );
  expect(status, text.slice(0, 200)).toBe(200);
  const length = Number(headers.get('inference-header-content-length'));
  const { parameters } = JSON.parse(bytes.subarray(0, length).toString());
  return { batchSize: parameters.batch_size, outputs: floats(bytes.subarray(length)) };
}

async function askOverGrpc(running: Running, name: string, rows: readonly Float32Array[]): Promise<Reply> {
  const { inputs } = signatureOf(running, name);
  const client = new GrpcClient(running.server.grpc?.port as number);
  const shape = [rows.length, ...inputs[0].shape];
  const answer = await client.call('ModelInfer', {
    model_name: name,
    inputs: [{ name: inputs[0].name, datatype: 'FP32', shape }],
    raw_input_contents: [Buffer.from(concatenated(rows).buffer)],
  });
  client.close();
  return {
    batchSize: Number(answer.parameters.batch_size.int64_param),
    outputs: floats(answer.raw_output_contents[0]),
  };
}

function floats(bytes: Buffer): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

/** HTTP with JSON and with bytes, and gRPC. */
const FRONTENDS = [askInJson, askInBinary, askOverGrpc] as const;
/** Requests of a call, and the batch size that runs them, full or filled up. */
const CALLS = [
  [1, 1],
  [2, 2],
  [3, 4],
  [4, 4],
] as const;

it('outputs equal those of onnxruntime bit for bit, through every frontend and at every batch size', async () => {
  // A call of several requests enters at once, and fifo runs it as one batch.
  const running = await start('fifo, maxDelay: 1ms');
  for (const ask of FRONTENDS)
    for (const name of NAMES)
      for (const [count, batchSize] of CALLS) {
        const rows = Array.from({ length: count }, (_, i) => inputOf(running, name, 10 * count + i));
        const reply = await ask(running, name, rows);
        expect(reply.batchSize).toBe(batchSize);
        const expected = concatenated(await runDirectly(running, name, batchSize, rows));
        expect(expected.some((value) => value !== 0 && !Number.isNaN(value))).toBe(true);
        expect(reply.outputs).toEqual(expected);
      }
  await running.server.close();
  await expectReplay(running.journal, 90);
});

/** Slow machines must not miss windows. */
const POLICIES = ['clockwork, latestDelta: 20s', 'fifo'];

it.each(POLICIES)('%s: concurrent requests of all models each get their own outputs', async (kind) => {
  const running = await start(kind);
  const asked = Array.from({ length: 40 }, (_, i) => ({
    name: NAMES[i % NAMES.length],
    input: inputOf(running, NAMES[i % NAMES.length], i),
    ask: FRONTENDS[i % 3],
  }));
  const replies = await Promise.all(asked.map(({ ask, name, input }) => ask(running, name, [input])));
  for (const [i, { batchSize, outputs }] of replies.entries()) {
    const { name, input } = asked[i];
    // Whom it shared the batch with is not known, nor at which place: what others hold does not matter there.
    const places = Array.from({ length: batchSize }, (_, place) =>
      Array.from({ length: place + 1 }, (_, row) => (row === place ? input : null)),
    );
    const possible = await Promise.all(places.map((rows) => runDirectly(running, name, batchSize, rows)));
    expect(possible.map((rows) => rows.at(-1))).toContainEqual(outputs);
  }
  await running.server.close();
  await expectReplay(running.journal, 40);
});
