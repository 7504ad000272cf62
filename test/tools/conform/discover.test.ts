import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { discover } from '../../../src/tools/conform/discover.js';
import { endpointAt } from './endpoint.js';

type Shape = readonly number[];

interface Model {
  readonly inputs: readonly Shape[];
  readonly outputs: readonly Shape[];
  readonly fails?: boolean;
  /** Status of each answer, by the body of the request and how often it was asked. */
  readonly status?: (body: { parameters?: { timeout?: number } }, nth: number) => number;
}

/** A server with these models, all of which answer anything alike unless they fail. */
async function serve(models: Readonly<Record<string, Model>>) {
  const tensors = (shapes: readonly Shape[]) =>
    shapes.map((shape, i) => ({ name: `t${i}`, datatype: 'FP32', shape }));
  const answerTo = (url: string): object | null => {
    if (url === '/v2') return { name: 'a', version: '1', extensions: [] };
    if (url === '/v2/repository/index') return Object.keys(models).map((name) => ({ name, state: 'READY' }));
    const [, , , name = '', verb] = url.split('/');
    const model = models[name]!;
    if (verb === undefined)
      return { name, platform: 'x', inputs: tensors(model.inputs), outputs: tensors(model.outputs) };
    if (model.fails === true) return null;
    return { model_name: name, outputs: [{ name: 't0', datatype: 'FP32', shape: [1], data: [1] }] };
  };
  let asked = 0;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const answer = answerTo(request.url!);
    const [, , , name = '', verb] = request.url!.split('/');
    const status = verb === 'infer' ? models[name]?.status?.(JSON.parse(body), asked++) : undefined;
    response.writeHead(status ?? (answer === null ? 500 : 200)).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return endpointAt((server.address() as AddressInfo).port, null);
}

const free: Model = { inputs: [[-1]], outputs: [[1]] };
const oneInput: Model = { inputs: [[-1, 4]], outputs: [[-1, 8]] };
const twoInputs: Model = {
  inputs: [
    [-1, 16],
    [-1, 2],
  ],
  outputs: [[-1, 8]],
};

describe('the model that is asked', () => {
  const chosen = async (models: Readonly<Record<string, Model>>, named?: string) =>
    (await discover(await serve(models), named)).subject.name;

  it('is one that most cases can be asked with, though it is not the smallest', async () => {
    expect(await chosen({ free, oneInput, twoInputs })).toBe('twoInputs');
    expect(await chosen({ free, oneInput })).toBe('oneInput');
    const noBatch: Model = { inputs: [[4]], outputs: [[8]] };
    expect(await chosen({ noBatch, oneInput })).toBe('oneInput');
    const oneNumber: Model = { inputs: [[-1, 4]], outputs: [[-1, 1]] };
    expect(await chosen({ oneNumber, oneInput })).toBe('oneInput');
    expect(await chosen({ free, noBatch })).toBe('noBatch');
  });

  it('is the smallest of those', async () => {
    const smaller: Model = { inputs: [[-1, 3]], outputs: [[-1, 8]] };
    expect(await chosen({ oneInput, smaller })).toBe('smaller');
  });

  it('is no large one where a small one can be asked', async () => {
    const large: Model = {
      inputs: [
        [-1, 3, 64, 64],
        [-1, 2],
      ],
      outputs: [[-1, 8]],
    };
    expect(await chosen({ large, free })).toBe('free');
    expect(await chosen({ large })).toBe('large');
  });

  it('is another where the best one fails, and any that is named', async () => {
    expect(await chosen({ free, twoInputs: { ...twoInputs, fails: true } })).toBe('free');
    expect(await chosen({ free, twoInputs }, 'free')).toBe('free');
  });

  it('is asked again while it sleeps, and with a timeout of its own where its SLO is tight', async () => {
    const asleep: Model = { ...oneInput, status: (_, nth) => (nth === 0 ? 503 : 200) };
    expect(await chosen({ asleep })).toBe('asleep');
    const tight: Model = { ...oneInput, status: ({ parameters }) => (parameters?.timeout ? 200 : 504) };
    expect(await chosen({ tight })).toBe('tight');
    const takesNone: Model = {
      ...oneInput,
      status: ({ parameters }, nth) => (parameters?.timeout ? 400 : nth === 0 ? 429 : 200),
    };
    expect(await chosen({ takesNone })).toBe('takesNone');
  });

  it('is none where the server has no time, which the error says, and what to do', async () => {
    const never: Model = { ...oneInput, status: () => 504 };
    await expect(chosen({ never })).rejects.toThrow(
      /never: the status is 504.*: the server has no time for them, so give it a longer SLO/,
    );
  });
});
