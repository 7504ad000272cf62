import { cpSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import type { WorkerModel } from '../../src/live/model.js';
import { measureBatching, withBatching } from '../../src/live/models/measure/measure.js';
import { optimizeModel } from '../../src/live/models/optimize.js';
import { readRepository } from '../../src/live/models/repository.js';
import { repositoryModels } from '../../src/serve/prepare-model.js';
import { runCli, tempDir } from '../cli/run-cli.js';
import type { HttpClient } from '../live/frontend/fixtures.js';
import { CPU, ELEMENT_TYPES, identityModel, writeIn } from '../live/models/fixtures.js';
import {
  type Dims,
  longs,
  node,
  oneToOne,
  type SmallNode,
  type SmallWeights,
  scalar,
} from '../live/models/small-graph.js';
import { PAGE_BYTES, serve, unmeasured } from './fixtures.js';

const SLO = { slo_ms: 60_000 };

describe('what a server answers is what onnxruntime answers, bit for bit', () => {
  it('for random graphs of operators within rows and across them', async () => {
    const dir = tempDir();
    const graphs = fc.sample(graph, { numRuns: 24, seed: 7 });
    for (const [i, { nodes, weights }] of graphs.entries()) {
      writeIn(dir, `g${i}/1/model.onnx`, oneToOne(['n', COLUMNS], ['n', COLUMNS], nodes, weights));
    }
    const models = await checkedModels(dir);
    // Both kinds are among them, or the test shows nothing.
    expect(models.filter(({ signature }) => signature.batched).length).toBeGreaterThan(4);
    expect(models.filter(({ signature }) => !signature.batched).length).toBeGreaterThan(4);
    const { http } = await serve({ devices: [CPU], models });
    for (const [i, { nodes }] of graphs.entries()) {
      const direct = await InferenceSession.create(readFileSync(join(dir, `g${i}/1/model.onnx`)));
      for (const rows of [1, 3, 8, 11]) {
        // Whole numbers: what is added up is the same in any order, so nothing hides behind rounding.
        const x = Float32Array.from({ length: rows * COLUMNS }, (_, at) => ((at * 7919 + rows) % 17) - 8);
        const { y } = await direct.run({ x: new Tensor('float32', x, [rows, COLUMNS]) });
        const served = await ask(http, `g${i}`, [rows, COLUMNS], x);
        const ops = nodes.map(({ op }) => op).join(' ');
        expect([ops, served.shape, served.data]).toEqual([ops, [...y.dims], numbers(y)]);
      }
      await direct.release();
    }
  });
});

describe('the check of batches', () => {
  it('is kept with the profile, for as long as the model is the same', { timeout: 120_000 }, async () => {
    const dir = tempDir();
    const path = writeIn(dir, 'sum/1/model.onnx', CUMULATIVE);
    const said: string[] = [];
    const start = async (from = dir) => {
      said.length = 0;
      return repositoryModels(from, CPU, PAGE_BYTES, (line) => said.push(line));
    };
    const [first] = await start();
    expect(first.signature).toMatchObject({ batched: false, inputs: [{ shape: [-1, 2] }] });
    expect(first.spec.batchSizes).toEqual([1]);
    const served = expect.stringMatching(
      /^sum is served one request at a time: .*output y differs by .*"batch: none"/,
    );
    expect(said).toEqual([expect.stringContaining('measuring sum'), served]);

    const listed = await runCli(['model', 'list', dir]);
    expect(listed.stdout).toMatch(/\n\nsum runs one request at a time on cpu: output y differs by [^\n]*\n$/);

    // Another time, and a copy, are the same model.
    utimesSync(path, 2_000_000_000, 2_000_000_000);
    await start();
    expect(said).toEqual([served]);
    const copy = join(tempDir(), 'copy');
    cpSync(dir, copy, { recursive: true });
    await start(copy);
    expect(said).toEqual([served]);

    // A profile from before the check is not enough.
    const profilePath = join(dir, 'sum/1/profile.cpu.json');
    const { batching, ...rest } = JSON.parse(readFileSync(profilePath, 'utf8'));
    expect(batching).toMatchObject({ independent: false, output: 'y', batchSizes: [2, 4, 8] });
    writeFileSync(profilePath, JSON.stringify(rest));
    await start();
    expect(said).toEqual([expect.stringContaining('measuring sum'), served]);

    // The operator knows better.
    writeIn(dir, 'sum/config.yaml', 'batch: none');
    await start();
    expect(said).toEqual([]);
    rmSync(join(dir, 'sum/config.yaml'));

    // The operator is wrong.
    writeIn(dir, 'sum/config.yaml', 'batch: rows');
    const [rows] = await start();
    expect(rows.signature.batched).toBe(true);
    expect(rows.spec.batchSizes).toEqual([1, 2, 4, 8]);
    const warning = expect.stringMatching(/^warning: sum is batched because .*: output y differs by /);
    expect(said).toEqual([expect.stringContaining('measuring sum'), warning]);
    await start();
    expect(said).toEqual([warning]);
    const asRows = await runCli(['model', 'list', dir]);
    expect(asRows.stdout).toMatch(
      / 1,2,4,8 .*\n\nsum is batched on cpu because .*: output y differs by [^\n]*\n$/,
    );
    rmSync(join(dir, 'sum/config.yaml'));

    // A damaged profile costs a measurement, not the start.
    writeFileSync(profilePath, readFileSync(profilePath, 'utf8').slice(0, -40));
    await start();
    expect(said).toEqual([
      expect.stringMatching(/^measuring sum on cpu: .*profile\.cpu\.json is damaged \(.+\)$/),
      served,
    ]);

    // Another model of the same size and time.
    writeFileSync(path, identityModel(ELEMENT_TYPES.FP32, ['n', 2]));
    utimesSync(path, 2_000_000_000, 2_000_000_000);
    const [other] = await start();
    expect(other.signature.batched).toBe(true);
    expect(said).toEqual([
      expect.stringMatching(
        /^measuring sum on cpu: .*profile\.cpu\.json does not fit the model as it is now$/,
      ),
    ]);
  });
});

const CUMULATIVE = oneToOne(['time', 2], ['time', 2], [node('CumSum', ['x', 'axis'], 'y')], {
  axis: scalar(0),
});

const COLUMNS = 3;

/** Steps from one value of n × 3 to the next: some within rows, some across them. */
const STEPS: Readonly<Record<string, (x: string, y: string) => SmallNode[]>> = {
  relu: (x, y) => [node('Relu', [x], y)],
  negate: (x, y) => [node('Neg', [x], y)],
  bias: (x, y) => [node('Add', [x, 'bias'], y)],
  product: (x, y) => [node('MatMul', [x, 'matrix'], y)],
  alongRow: (x, y) => [node('CumSum', [x, 'one'], y)],
  largestOfRow: (x, y) => [node('ReduceMax', [x], `${y}m`, { axes: [1] }), node('Sub', [x, `${y}m`], y)],
  flatten: (x, y) => [node('Reshape', [x, 'flat'], `${y}f`), node('Reshape', [`${y}f`, 'rows'], y)],
  downColumn: (x, y) => [node('CumSum', [x, 'zero'], y)],
  sumOfColumn: (x, y) => [node('ReduceSum', [x, 'zeros'], `${y}s`), node('Sub', [x, `${y}s`], y)],
  meanOfColumn: (x, y) => [node('ReduceMean', [x], `${y}s`, { axes: [0] }), node('Sub', [x, `${y}s`], y)],
  largestOfColumn: (x, y) => [node('ReduceMax', [x], `${y}m`, { axes: [0] }), node('Sub', [x, `${y}m`], y)],
  reverse: (x, y) => [node('Slice', [x, 'last', 'before', 'zeros', 'back'], y)],
};

const graph = fc
  .tuple(
    fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 1, maxLength: 4 }),
    fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 12, maxLength: 12 }),
  )
  .map(([steps, numbers]) => {
    const nodes = steps.flatMap((step, i) =>
      STEPS[step](i === 0 ? 'x' : `v${i}`, i === steps.length - 1 ? 'y' : `v${i + 1}`),
    );
    const all: Record<string, SmallWeights> = {
      bias: { dims: [3], floats: numbers.slice(0, 3) },
      matrix: { dims: [3, 3], floats: numbers.slice(3) },
      zero: scalar(0),
      one: scalar(1),
      zeros: longs(0),
      last: longs(-1),
      before: longs(-1000),
      back: longs(-1),
      flat: longs(1, -1),
      rows: longs(-1, COLUMNS),
    };
    const used = new Set(nodes.flatMap(({ inputs }) => inputs));
    return { nodes, weights: Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name))) };
  });

/** The models of a repository as a server would have them, but for how long they take. */
async function checkedModels(dir: string): Promise<WorkerModel[]> {
  const models: WorkerModel[] = [];
  for (const model of await readRepository(dir)) {
    const { ortPath } = await optimizeModel(model.onnxPath, 'cpu');
    const check = model.batchIsUnchecked ? await measureBatching({ ...model, ortPath, device: CPU }) : null;
    models.push(unmeasured(withBatching(model, check), ortPath));
  }
  return models;
}

async function ask(http: HttpClient, model: string, shape: Dims, x: Float32Array) {
  const json = JSON.stringify({
    parameters: { ...SLO, binary_data_output: true },
    inputs: [{ name: 'x', datatype: 'FP32', shape, parameters: { binary_data_size: x.byteLength } }],
  });
  const body = Buffer.concat([Buffer.from(json), new Uint8Array(x.buffer as ArrayBuffer)]);
  const { status, bytes, headers, text } = await http.post(`/v2/models/${model}/infer`, body, {
    'inference-header-content-length': String(json.length),
  });
  if (status !== 200) throw new Error(`${status} ${text}`);
  const length = Number(headers.get('inference-header-content-length'));
  const [{ shape: given }] = JSON.parse(bytes.toString('utf8', 0, length)).outputs;
  return { shape: given, data: [...new Uint8Array(bytes.subarray(length))] };
}

/** The bytes of a tensor. */
function numbers({ data }: Tensor): number[] {
  return [...new Uint8Array((data as Float32Array).slice().buffer as ArrayBuffer)];
}
