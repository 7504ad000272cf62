import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import { profileFileName } from '../../src/config/onnx-model.js';
import { LocalLink, type WorkerEvents, type WorkerLink } from '../../src/live/controller/link/worker-link.js';
import type { ActionMessage } from '../../src/live/messages.js';
import type { WorkerModel } from '../../src/live/model.js';
import { readModelFile } from '../../src/live/models/repository.js';
import { OnnxGraph } from '../../src/live/onnx/onnx-graph.js';
import { startMachine } from '../../src/live/worker/local-machine.js';
import { measureProfile } from '../../src/serve/measure-profile.js';
import { repositoryModels } from '../../src/serve/repository-models.js';
import { CPU, tempDir, writeIn } from '../live/models/fixtures.js';
import { body, PAGE_BYTES, type Running, serve, simulated, smallModels } from './fixtures.js';

/** SLOs are far: whatever this machine is at, no request may fail. */
const POLICIES = [
  ['the default policy', []],
  ['clockwork', ['policy.kind=clockwork']],
  ['clockwork that tunes itself', ['policy={kind: clockwork, scheduleAhead: auto}']],
] as const;

const MIB = 1024 * 1024;
/** Floats of an input, by model; each answers with their mean. */
const MODELS = { tiny: 4, large: (8 * MIB) / 4, huge: (60 * MIB) / 4 };

let models: WorkerModel[];

beforeAll(async () => {
  const repository = tempDir();
  for (const [name, floats] of Object.entries(MODELS)) {
    const graph = new OnnxGraph(name);
    const input = graph.input('input', [floats]);
    graph.output(graph.node('ReduceMean', [input], { axes: [1] }, 'output'), [1]);
    const path = writeIn(repository, `${name}/1/model.onnx`, graph.encode());
    writeIn(repository, `${name}/config.yaml`, `batchSizes: [1${name === 'tiny' ? ', 2, 4, 8' : ''}]\n`);
    const { profile } = await measureProfile(await readModelFile(path), CPU, { runs: 3 });
    writeFileSync(join(repository, name, '1', profileFileName(CPU)), JSON.stringify(profile));
  }
  models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {});
}, 60_000);

/** Asks for so many rows of ones over HTTP, and expects their means. */
async function ask({ http }: Running, name: keyof typeof MODELS, rows = 1): Promise<void> {
  const data = Buffer.from(new Float32Array(rows * MODELS[name]).fill(1).buffer);
  const tensor = {
    name: 'input',
    datatype: 'FP32',
    shape: [rows, MODELS[name]],
    parameters: { binary_data_size: data.length },
  };
  const head = Buffer.from(JSON.stringify({ inputs: [tensor] }));
  const { status, text, json } = await http.post(`/v2/models/${name}/infer`, Buffer.concat([head, data]), {
    'inference-header-content-length': String(head.length),
  });
  expect(status, text.slice(0, 200)).toBe(200);
  expect(json.outputs[0].data).toEqual(new Array(rows).fill(1));
}

describe.each(POLICIES)('%s, with SLOs of 60 s, fails none', (_, overrides) => {
  const start = () => serve({ devices: [CPU], models, pages: 20 }, ['slo=60s', ...overrides]);

  it.each([
    ['60 MiB', 'huge', 4],
    ['8 MiB', 'large', 12],
  ] as const)('of requests with inputs of %s', { timeout: 120_000 }, async (_size, model, count) => {
    const running = await start();
    for (let i = 0; i < count; i++) await ask(running, model);
    await Promise.all(Array.from({ length: 3 }, () => ask(running, model)));
  });

  it('of 300 tiny requests while all processors are busy', { timeout: 120_000 }, async () => {
    const running = await start();
    const spin = 'for (;;);';
    const busy = Array.from({ length: 2 }, () => new Worker(spin, { eval: true }));
    try {
      for (let i = 0; i < 30; i++) await Promise.all(Array.from({ length: 10 }, () => ask(running, 'tiny')));
    } finally {
      await Promise.all(busy.map((worker) => worker.terminate()));
    }
  });

  it('of 256 rows in one request', { timeout: 120_000 }, async () => {
    const running = await start();
    for (let i = 0; i < 5; i++) await ask(running, 'tiny', 256);
  });
});

/** A worker whose messages take longer, either way. */
class SlowLink implements WorkerLink {
  readonly name = 'slow';

  constructor(
    private readonly link: WorkerLink,
    private readonly delayMs: number,
  ) {}

  start(events: WorkerEvents, nowNs: () => number): void {
    this.link.start(
      {
        met: (description) => events.met(description),
        driven: (by) => events.driven(by),
        up: (description, state) => events.up(description, state),
        down: (reason, gpu) => events.down(reason, gpu),
        results: (results) => setTimeout(() => events.results(results), this.delayMs),
      },
      nowNs,
    );
  }

  prepare(action: ActionMessage): ActionMessage {
    return this.link.prepare?.(action) ?? action;
  }

  send(...[actions]: Parameters<WorkerLink['send']>): void {
    setTimeout(() => this.link.send(actions), this.delayMs);
  }

  listModels(...given: Parameters<WorkerLink['listModels']>): ReturnType<WorkerLink['listModels']> {
    return this.link.listModels(...given);
  }

  addModel(...given: Parameters<WorkerLink['addModel']>): ReturnType<WorkerLink['addModel']> {
    return this.link.addModel(...given);
  }

  dropModel(index: number): Promise<void> {
    return this.link.dropModel(index);
  }

  restart(reason: string, gpu: number | null): void {
    this.link.restart(reason, gpu);
  }

  close(): Promise<void> {
    return this.link.close();
  }
}

it.each(POLICIES)(
  '%s fails none where one of two links delays by 50 ms',
  async (_, overrides) => {
    const options = { devices: simulated(1, 1), models: smallModels(2, 1), pages: 6, pageBytes: PAGE_BYTES };
    const machine = await startMachine(options);
    try {
      const near = await startMachine(options);
      try {
        const links = [new LocalLink(near), new SlowLink(new LocalLink(machine), 50)];
        const { http, server } = await serve(options, ['slo=5s', ...overrides], { links });
        const answers: number[] = [];
        for (let round = 0; round < 20; round++) {
          const asked = Array.from({ length: 10 }, (_, i) =>
            http.post(`/v2/models/model${i % 2}/infer`, body()),
          );
          answers.push(...(await Promise.all(asked)).map(({ status }) => status));
        }
        expect(new Set(answers)).toEqual(new Set([200]));
        await server.close();
      } finally {
        await near.close();
      }
    } finally {
      await machine.close();
    }
  },
  60_000,
);
