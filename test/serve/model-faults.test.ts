import { expect, it } from 'vitest';
import type { WorkerModel } from '../../src/live/model.js';
import { CPU } from '../live/models/fixtures.js';
import { encodeGraph, node } from '../live/models/small-graph.js';
import { fileModels, type Running, serve } from './fixtures.js';

/** y = log(x): NaN below zero. */
const LOG = encodeGraph({
  inputs: [{ name: 'x', dims: ['n', 2] }],
  outputs: [{ name: 'y', dims: ['n', 2] }],
  nodes: [node('Log', ['x'], 'y')],
});
/** Gives as many elements as its input says, and their sum for as many as there is memory for. */
const SIZED = encodeGraph({
  inputs: [{ name: 'x', dims: [1], type: 'INT64' }],
  outputs: [{ name: 'y', dims: [1] }],
  nodes: [node('Expand', ['one', 'x'], 'all'), node('ReduceSum', ['all'], 'y')],
  weights: { one: { dims: [1], floats: [1] } },
});
const models = (): Promise<WorkerModel[]> => fileModels({ log: LOG, sized: SIZED });

async function ask({ http }: Running, model: string, datatype: string, shape: number[], data: number[]) {
  const body = JSON.stringify({
    parameters: { slo_ms: 60_000 },
    inputs: [{ name: 'x', datatype, shape, data }],
  });
  const response = await fetch(`http://127.0.0.1:${http.port}/v2/models/${model}/infer`, {
    method: 'POST',
    body,
  });
  return { status: response.status, text: await response.text() };
}

/** Of source files, of folders, of a stack. */
const NO_INNARDS = /^(?!.*(?:\.cc|\.[jt]s\b|node_modules|\s\/\w|\bat \S+:\d)).*$/;

it('numbers that are none are answers like others, and cost the rest of a batch nothing', async () => {
  const running = await serve({ devices: [CPU], models: await models() });
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) => ask(running, 'log', 'FP32', [1, 2], i % 2 === 0 ? [1, 1] : [-1, 0])),
  );
  for (const [i, { status, text }] of answers.entries()) {
    expect(status).toBe(200);
    // As Triton writes them.
    expect(text).toContain(i % 2 === 0 ? '"data":[0,0]' : '"data":[NaN,-Infinity]');
  }
});

it('a run that takes more memory than there is fails with that reason, and the next one is well', async () => {
  const running = await serve({ devices: [CPU], models: await models() });
  const sized = (elements: number) => ask(running, 'sized', 'INT64', [1], [elements]);
  expect((await sized(3)).text).toContain('"data":[3]');
  const { status, text } = await sized(2 ** 48);
  expect([status, JSON.parse(text).error]).toEqual([
    500,
    expect.stringMatching(/^the model fails at .*alloc/i),
  ]);
  expect(text).toMatch(NO_INNARDS);
  expect((await sized(4)).text).toContain('"data":[4]');
});
