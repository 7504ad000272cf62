import { expect, it } from 'vitest';
import { readServerSettings } from '../../../src/config/server-settings.js';
import { OUTCOME_ERROR, OUTCOME_OK } from '../../../src/core/request.js';
import { RemoteLink } from '../../../src/live/controller/link/remote-link.js';
import { RemoteLinks } from '../../../src/live/controller/link/remote-links.js';
import type { TensorSignature, WorkerModel } from '../../../src/live/model.js';
import { type InferenceAnswer, type InferenceRequest, WORKER_LOST } from '../../../src/live/service.js';
import type { KeptMemory } from '../../../src/live/worker/endpoint/kept-tensors.js';
import { serveMachine } from '../../../src/live/worker/endpoint/worker-endpoint.js';
import { startMachine } from '../../../src/live/worker/local-machine.js';
import { startServer } from '../../../src/serve/server.js';
import { PAGE_BYTES, simulated, smallModels } from '../../serve/fixtures.js';
import { type FrontendThread, type SimMachine, type SimProcess, Simulation, threadBodies } from './index.js';

const S = 1e9;
const ROWS = 6;
const WIDTH = 5000;

const tensor = (name: string, shape: readonly number[]): TensorSignature => {
  return { name, datatype: 'FP32', shape, bytes: shape.reduce((all, size) => all * size, 4) };
};

/** A detector that finds six objects, and two models that take one each. */
const MODELS: readonly WorkerModel[] = smallModels(3, 1, [40, 50, 60]).map((model, m) => ({
  ...model,
  signature: {
    inputs: [tensor('input', m === 0 ? [2] : [WIDTH])],
    outputs: [tensor('output', m === 0 ? [ROWS, WIDTH] : m === 1 ? [WIDTH] : [1])],
    batched: true,
  },
}));

const { settings } = await readServerSettings({
  file: null,
  environment: [],
  overrides: [
    'slo=2s',
    `pipelines=[{ name: pictures, steps: [{ id: a, model: model0 },
      { id: b, model: model1, each: input, inputs: { input: a.output } },
      { id: c, model: model2, each: input, inputs: { input: b.output } }] }]`,
  ],
});

/** A controller, two workers and a client that asks 20 times a second, and may lose interest, until a while before the end. */
async function run(
  seconds: number,
  faults: (all: { workers: SimProcess[]; machines: SimMachine[]; simulation: Simulation }) => void,
) {
  let frontend: FrontendThread | null = null;
  const bodies = threadBodies({
    frontend: (_, thread) => {
      frontend = thread;
    },
  });
  const simulation = new Simulation({ seed: 1, bodies });
  const machines = ['one', 'two', 'three'].map((name) => simulation.machine(name, {}));
  const memories: KeptMemory[] = [];
  const workers = machines.slice(1).map((machine, w) =>
    machine.process(`worker-${machine.name}`, async ({ world }) => {
      const settings = { devices: simulated(2, 1), models: MODELS, pages: 6, pageBytes: PAGE_BYTES };
      memories[w] = { mostBytes: 1_000_000, usedBytes: 0, totalBytes: 0 };
      const { time, network } = world;
      const options = { time, network, host: '0.0.0.0', port: 7100, keptMemory: memories[w] };
      await serveMachine(await startMachine({ ...settings, world }), options);
    }),
  );
  const controller = machines[0].process('controller', async ({ world, log }) => {
    const remote = new RemoteLinks({ world });
    const links = ['two', 'three'].map((name) => new RemoteLink({ address: `${name}:7100` }, remote));
    await startServer({
      ...{ world, log, links, settings, host: '0.0.0.0', httpPort: 80, grpcPort: null, metricsPort: null },
      ...{ frontends: 1, frontend: { token: null, tls: null }, journal: null },
      ...{ minWorkers: 2, journalKeepBytes: null, serverVersion: '1.2.3' },
    });
  });
  for (const process of [...workers, controller]) process.start();
  const answers: InferenceAnswer[][] = [];
  const ask = () => {
    if (simulation.nowNs < (seconds - 5) * S) simulation.at(simulation.nowNs + S / 20, ask);
    const thread = frontend as FrontendThread | null;
    thread?.loop.receive(20_000, () => {
      const index = thread.service.state.entries.find(({ name }) => name === 'pictures')?.index ?? -1;
      const heard: InferenceAnswer[] = [];
      answers.push(heard);
      const done = (answer: InferenceAnswer) => heard.push(answer);
      const inputs = [new Uint8Array(8)];
      const request: InferenceRequest = { model: index, user: 0, sloNs: 2 * S, inputs, done };
      thread.service.infer(request);
      if (answers.length % 3 === 0)
        simulation.at(simulation.nowNs + (answers.length % 50) * 4e6, () => request.keeper?.cancel(request));
    });
  };
  simulation.at(2 * S, ask);
  faults({ workers, machines, simulation });
  await simulation.run(seconds * S);
  return {
    answers: answers.map(([first]) => first),
    counts: answers.map(({ length }) => length),
    memories,
  };
}

it('answers each request once whatever happens between its steps, and forgets its tensors', async () => {
  const { answers, counts, memories } = await run(
    30,
    ({ workers, machines: [one, two, three], simulation }) => {
      const [first, second] = workers;
      for (let i = 0; i < 5; i++) {
        simulation.at((3 + 0.71 * i) * S, () => first.crash());
        simulation.at((3.3 + 0.71 * i) * S, () => first.start());
      }
      simulation.at(8 * S, () => simulation.network.path(one, three).cut());
      simulation.at(9.1 * S, () => simulation.network.path(one, three).heal());
      for (let i = 0; i < 5; i++)
        simulation.at((11 + 0.53 * i) * S, () => simulation.network.reset(one, two));
      simulation.at(14 * S, () => second.freeze());
      simulation.at(15.5 * S, () => second.thaw());
      for (let i = 0; i < 5; i++)
        simulation.at((17 + 0.47 * i) * S, () =>
          first.threadsOf('executor')[0]?.die(new Error('a fault of the test')),
        );
    },
  );
  expect(new Set(counts)).toEqual(new Set([1]));
  const failed = answers.filter(({ outcome }) => outcome === OUTCOME_ERROR);
  expect(failed.length).toBeGreaterThan(0);
  expect(new Set(failed.map(({ error }) => error))).toEqual(new Set([WORKER_LOST]));
  expect(answers.filter(({ outcome }) => outcome === OUTCOME_OK).length).toBeGreaterThan(answers.length / 2);
  expect(memories.map(({ usedBytes }) => usedBytes)).toEqual([0, 0]);
});
