import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { measureServed } from '../../../src/tools/profile/measure-served.js';
import { outputBytes, servedModel } from '../../../src/tools/profile/served-model.js';
import { GrpcServer } from '../../load/grpc-server.js';
import { HttpServer, type Inference } from '../../load/http-server.js';

const X = { name: 'x', datatype: 'FP32', shape: [-1, 3] };
const MODEL = servedModel('a', { inputs: [X], outputs: [] });

const measure = (url: string, runs = 2) =>
  measureServed({ url, trust: {}, model: MODEL, batchSizes: [1, 4], runs, budgetNs: 1e9 });

function answer({ response }: Inference, value: unknown, status = 200): void {
  response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
}

const rowsOf = ({ json }: Inference) => (json.inputs[0].shape as number[])[0];
const echo = (inference: Inference) =>
  answer(inference, { outputs: [{ ...X, shape: [rowsOf(inference), 3] }] });

async function problemWith(infer: (inference: Inference) => void): Promise<string> {
  const { url } = await HttpServer.open({ infer });
  return measure(url).then(
    () => 'measured',
    (error) => `${error.code}: ${error.message}`.replace(url, 'URL'),
  );
}

describe('a server that answers something else', () => {
  it('is measured if it is sane', async () => {
    expect(await problemWith(echo)).toBe('measured');
  });

  it.each([
    [
      'text',
      'not JSON',
      /^E_SERVER: URL answers a request of 1 row to model a with what cannot be used: .*JSON/,
    ],
    ['no outputs', { outputs: [] }, /it lists no outputs/],
    ['too few rows', { outputs: [{ ...X, shape: [0, 3] }] }, /its output x has the shape \[0,3\]/],
    ['impossible sizes', { outputs: [{ ...X, shape: [1, 1e15, 1e15] }] }, /impossible size/],
    ['names for the terminal', { outputs: [{ ...X, name: '\u001b[2J', shape: [3] }] }, /its output \[2J has/],
  ])('is refused: %s', async (_, value, said) => {
    expect(await problemWith((inference) => answer(inference, value))).toMatch(said);
  });

  it('is refused where only a batch has the wrong rows', async () => {
    const one = (inference: Inference) => answer(inference, { outputs: [{ ...X, shape: [1, 3] }] });
    expect(await problemWith(one)).toMatch(/a request of 4 rows .*has the shape \[1,3\]/);
  });

  it('is refused where it fails after it was measured for a while', async () => {
    let answered = 0;
    const late = (inference: Inference) =>
      ++answered > 2 ? answer(inference, { error: 'out of\nmemory' }, 500) : echo(inference);
    expect(await problemWith(late)).toBe(
      'E_SERVER: URL answers HTTP 500 (out of memory) to a request of 1 row to model a: see its log',
    );
  });
});

describe.each(['http', 'grpc'])('a server that hangs over %s', (scheme) => {
  it('is left after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const server =
      scheme === 'http'
        ? await HttpServer.open({ infer: () => {} })
        : await GrpcServer.open({ infer: () => -1 });
    const later = setInterval(() => vi.advanceTimersByTime(2000), 20);
    onTestFinished(() => clearInterval(later));
    await expect(measure(server.url)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: `${server.url} has not answered a request of 1 row to model a in 60 s`,
    });
  });
});

describe('what a model is taken for', () => {
  const model = (inputs: number[][], outputs: number[][] = []) =>
    servedModel('m', {
      inputs: inputs.map((shape) => ({ ...X, shape })),
      outputs: outputs.map((shape) => ({ ...X, shape })),
    });

  it('depends on its first dimensions', () => {
    expect(model([[-1, 3], [-1]], [[-1, 2]])).toMatchObject({ batched: true, inputBytes: 16 });
    expect(model([[2, 3]], [[2]])).toMatchObject({ batched: false, inputBytes: 24 });
    expect(model([[]])).toMatchObject({ batched: false, inputBytes: 4 });
    expect(() => model([[-1, 3], [3]])).toThrow('only the first dimension');
    // A sum over its rows is no batch of answers.
    expect(() => model([[-1, 3]], [[1]])).toThrow('only the first dimension');
  });

  it('gives the bytes of a row of its outputs', () => {
    const batched = model([[-1, 3]]);
    expect(
      outputBytes(
        [
          { ...X, shape: [4, 5] },
          { ...X, datatype: 'BYTES', shape: [4, 1] },
        ],
        4,
        batched,
      ),
    ).toBe(20);
    expect(outputBytes([{ ...X, shape: [4, 5] }], 1, model([[1, 3]]))).toBe(80);
  });
});
