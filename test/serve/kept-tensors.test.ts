import { Tensor } from 'onnxruntime-node';
import { expect, it, onTestFinished } from 'vitest';
import { CallThread } from '../../src/live/controller/link/call-thread.js';
import { RemoteLink } from '../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../src/live/controller/link/remote-links.js';
import { openSession } from '../../src/live/ort/open-session.js';
import type { ControllerMessage, WorkerMessage } from '../../src/live/wire/protocol.js';
import type { CallWorker } from '../../src/live/wire/worker-call.js';
import { serveMachine } from '../../src/live/worker/endpoint/worker-endpoint.js';
import { StartedModels, startMachine } from '../../src/live/worker/local-machine.js';
import { REAL_WORLD } from '../../src/live/world/real-world.js';
import { ALL_MODELS } from '../../src/serve/deployment-options.js';
import { PATIENT, wireTo } from '../live/controller/link/fixtures.js';
import { CPU } from '../live/models/fixtures.js';
import { encodeGraph, longs, node } from '../live/models/small-graph.js';
import { fileModels, PAGE_BYTES, type Running, serve, simulated, until } from './fixtures.js';

const PLACES = 12;
/** Numbers of a row: more than are returned because they are few. */
const WIDTH = 5000;
const ROW_BYTES = 4 * WIDTH;

const GRAPHS = {
  // A row for each element that is not zero.
  detect: encodeGraph({
    inputs: [{ name: 'mask', dims: [PLACES] }],
    outputs: [
      { name: 'crops', dims: ['k', WIDTH] },
      { name: 'unused', dims: ['k', WIDTH] },
    ],
    nodes: [
      node('NonZero', ['mask'], 'at'),
      node('Transpose', ['at'], 'rows', { perm: [1, 0] }),
      node('Cast', ['rows'], 'numbers', { to: 1 }),
      node('Add', ['numbers', 'ramp'], 'crops'),
      node('Neg', ['crops'], 'unused'),
    ],
    weights: { ramp: { dims: [1, WIDTH], floats: Array.from({ length: WIDTH }, (_, i) => i / 8) } },
  }),
  classify: encodeGraph({
    inputs: [{ name: 'x', dims: ['n', WIDTH] }],
    outputs: [
      { name: 'y', dims: ['n', WIDTH] },
      { name: 'score', dims: ['n', 1] },
    ],
    nodes: [node('Mul', ['x', 'x'], 'y'), node('ReduceMean', ['x'], 'score', { axes: [1], keepdims: 1 })],
  }),
  total: encodeGraph({
    inputs: [
      { name: 'squares', dims: ['k', WIDTH] },
      { name: 'crops', dims: ['m', WIDTH] },
    ],
    outputs: [{ name: 'sums', dims: [2, WIDTH] }],
    nodes: [
      node('ReduceSum', ['squares', 'axis'], 'a', { keepdims: 1 }),
      node('ReduceSum', ['crops', 'axis'], 'b', { keepdims: 1 }),
      node('Concat', ['a', 'b'], 'sums', { axis: 0 }),
    ],
    weights: { axis: longs(0) },
  }),
};
type Name = keyof typeof GRAPHS;

const PIPELINES = `pipelines=[{ name: pictures, steps: [
  { model: detect },
  { model: classify, each: x, inputs: { x: detect.crops } },
  { model: total, inputs: { squares: classify.y, crops: detect.crops } }],
  outputs: { sums: total.sums, scores: classify.score } }]`;

/** Bytes of tensors in a message. */
function bytesIn(message: ControllerMessage | WorkerMessage): number {
  const lists =
    message.body === 'actions'
      ? message.actions.map(({ inputs }) => inputs)
      : message.body === 'results' || message.body === 'fetched'
        ? message.results.map(({ outputs }) => outputs)
        : [];
  return lists.flat().reduce((sum, { length }) => sum + length, 0);
}

/** A controller with a worker for each list of models, across the network. */
async function start(workers: readonly (readonly Name[])[], mostBytes: number) {
  const models = (await fileModels(GRAPHS)).map((model) => ({ ...model, digest: model.spec.name }));
  const memories = workers.map(() => ({ mostBytes, usedBytes: 0, totalBytes: 0 }));
  const wires = await Promise.all(
    workers.map(async (names, w) => {
      const own = models.filter(({ spec }) => names.includes(spec.name as Name));
      const settings = { devices: [CPU], models: [], pages: 20, pageBytes: PAGE_BYTES };
      const machine = await startMachine({ ...settings, source: new StartedModels(own) });
      onTestFinished(() => machine.close());
      const worker = await serveMachine(machine, { port: 0, keptMemory: memories[w] });
      onTestFinished(() => worker.close());
      return wireTo(worker.port);
    }),
  );
  // Bytes of tensors that pass the scheduling thread.
  let scheduled = 0;
  const links = new CallThread(REAL_WORLD, (what) => {
    throw new Error(what);
  });
  const call: CallWorker = (settings, events) => {
    const receive = (message: WorkerMessage) => {
      scheduled += bytesIn(message);
      events.receive(message);
    };
    const opened = links.call(settings, { ...events, receive });
    return {
      ...opened,
      write: (message) => {
        scheduled += bytesIn(message);
        opened.write(message);
      },
    };
  };
  const remote = new RemoteLinks({ call });
  const running = await serve({ devices: simulated(1, 0), models: [] }, ['slo=20s', PIPELINES], {
    links: wires.map(({ port }) => new RemoteLink({ address: `localhost:${port}`, ...PATIENT }, remote)),
    deployment: { ...ALL_MODELS, control: 'explicit', names: ['*'] },
  });
  const sent = () => wires.reduce((sum, wire) => sum + wire.sent(), 0);
  return { running, memories, scheduled: () => scheduled, sent };
}

const infer = async ({ http }: Running, places: readonly number[]) => {
  const data = Array.from({ length: PLACES }, (_, i) => Number(places.includes(i)));
  const { status, json } = await http.post('/v2/models/pictures/infer', {
    inputs: [{ name: 'mask', datatype: 'FP32', shape: [PLACES], data }],
  });
  const { outputs = [] } = json as { outputs?: { name: string; shape: number[]; data: number[] }[] };
  return { status, outputs: outputs.map(({ name, shape, data }) => ({ name, shape, data })) };
};

/** The models one after the other, without a server. */
async function reference() {
  const [detect, classify, total] = await Promise.all(
    [GRAPHS.detect, GRAPHS.classify, GRAPHS.total].map((onnx) => openSession(onnx, CPU, { level: 'all' })),
  );
  const plain = (name: string, { dims, data }: Tensor) => {
    return { name, shape: [...dims], data: Array.from(data as Float32Array) };
  };
  return async (places: readonly number[]) => {
    const mask = Array.from({ length: PLACES }, (_, i) => Number(places.includes(i)));
    const { crops } = await detect!.run({ mask: new Tensor('float32', mask, [PLACES]) });
    const { y, score } = await classify!.run({ x: crops! });
    const { sums } = await total!.run({ squares: y!, crops: crops! });
    return [plain('sums', sums!), plain('scores', score!)];
  };
}

/** Between 0 and 11 places. */
const ASKED = Array.from({ length: 12 }, (_, i) => Array.from({ length: i }, (_, k) => (i + 5 * k) % PLACES));
const ROWS = ASKED.reduce((sum, places) => sum + new Set(places).size, 0);

const EVERYTHING = ['detect', 'classify', 'total'] as const;

it.each([
  // Only the sums leave it.
  ['one worker', [EVERYTHING], 2 ** 30, 0, 0],
  // Crops go from the first to the second, and squares back.
  ['two with a step each, and a join', [['detect', 'total'], ['classify']], 2 ** 30, 0, 2],
  // Crops and squares come to the controller, crops go out twice, squares once.
  ['one that may keep nothing', [EVERYTHING], 0, 5, 2],
] as const)('answers as its models do on %s', async (_, workers, mostBytes, inScheduler, fromWorkers) => {
  const { running, memories, scheduled, sent } = await start(workers, mostBytes);
  const expected = await reference();
  const before = { scheduled: scheduled(), sent: sent() };
  const answers = await Promise.all(ASKED.map((places) => infer(running, places)));
  for (const [i, answer] of answers.entries())
    expect(answer).toEqual({ status: 200, outputs: await expected(ASKED[i]) });
  await until(() => memories.every(({ usedBytes }) => usedBytes === 0));
  // How often all rows passed there, besides the sums; messages themselves are far less.
  const times = (bytes: number) => Math.floor((bytes - ASKED.length * 2 * ROW_BYTES) / (ROWS * ROW_BYTES));
  expect(times(scheduled() - before.scheduled)).toBe(inScheduler);
  expect(times(sent() - before.sent)).toBe(fromWorkers);
});
