import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { measureModel } from '../../../src/live/models/measure/measure.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { limitRuntimeCalls } from '../../../src/live/ort/runtime-limit.js';
import { RepositorySource } from '../../../src/serve/repository-source.js';
import { CPU, failure, tempDir, writeIn } from './fixtures.js';
import { encodeGraph, functionBomb, longs } from './small-graph.js';

const DEFAULT_LIMIT_MS = 30_000;

describe('a model that keeps onnxruntime busy for ever', () => {
  beforeEach(() => limitRuntimeCalls(1500));
  afterEach(() => limitRuntimeCalls(DEFAULT_LIMIT_MS));

  it('costs a server one version of one model', async () => {
    const source = sourceOf(repository({ bomb: 27, good: 2 }));
    const { versions, problems } = await source.list('bomb');
    expect(versions).toEqual([]);
    expect(problems.map(({ name, version, error }) => [name, version, error.code, error.what])).toEqual([
      [
        'bomb',
        '1',
        'E_MODEL_FILE',
        'onnxruntime was stopped because it took more than 1.5 s to read it; runtime.prepareLimit allows more',
      ],
    ]);
    const good = await source.open({ name: 'good', version: '1', digest: '' });
    expect(good?.signature.inputs.map(({ name }) => name)).toEqual(['x']);
    await source.close();
  });

  it('does not keep a server from ending', async () => {
    limitRuntimeCalls(DEFAULT_LIMIT_MS);
    const source = sourceOf(repository({ bomb: 27 }));
    const looks = [source.list('bomb'), source.open({ name: 'bomb', version: '1', digest: '' })].map((look) =>
      failure(look),
    );
    // So that, mostly, the first look has reached onnxruntime.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await source.close();
    for (const { message } of await Promise.all(looks))
      expect(message).toMatch(/the server is shutting down/);
  });
});

it('has a reason on one line, without a stack, when a model fails as it is measured', async () => {
  const onnxPath = writeIn(tempDir(), 'm/1/model.onnx', outOfRange());
  const { signature } = await readModelFile(onnxPath);
  const spec = { ortPath: onnxPath, signature, batchSizes: [1], device: CPU, runs: 1 };
  const { code, message } = await failure(measureModel(spec));
  expect(code).toBe('E_MODEL_FILE');
  expect(message).toMatch(/^the model cannot compute these inputs: [^\n]*out of data bounds[^\n]*$/);
});

function sourceOf(dir: string): RepositorySource {
  const options = { device: CPU, pageBytes: 1_000_000, cacheDir: null, measure: 'none' as const };
  return new RepositorySource({ dirs: [dir], precision: 'fp32', options }, () => {});
}

/** Models by name, each of so many levels. */
function repository(levels: Readonly<Record<string, number>>): string {
  const dir = tempDir();
  for (const [name, count] of Object.entries(levels))
    writeIn(dir, `${name}/1/model.onnx`, functionBomb(count));
  return dir;
}

/** Takes element 9 of rows of 4, as far as anybody can tell only when it runs. */
function outOfRange(): Uint8Array {
  return encodeGraph({
    inputs: [
      { name: 'x', dims: ['batch', 4] },
      { name: 'zero', dims: ['batch'], type: 'INT64' },
    ],
    outputs: [{ name: 'y', dims: ['rows', 4] }],
    nodes: [
      { op: 'Add', inputs: ['zero', 'nine'], outputs: ['at'] },
      { op: 'Gather', inputs: ['x', 'at'], outputs: ['y'] },
    ],
    weights: { nine: longs(9) },
  });
}
