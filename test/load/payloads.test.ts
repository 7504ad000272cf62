import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import { OUTCOME_OK, type Outcome } from '../../src/core/request.js';
import { openTarget } from '../../src/load/open-target.js';
import { payloadTensors } from '../../src/load/payload-tensors.js';
import { readPayloads } from '../../src/load/payloads.js';
import type { TensorDescription } from '../../src/load/tensors.js';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { type GrpcInference, GrpcServer } from './grpc-server.js';
import { HttpServer, type Inference } from './http-server.js';

const floats = (...values: number[]) => Buffer.from(new Float32Array(values).buffer);
const json = (inputs: unknown) => Buffer.from(JSON.stringify({ inputs }));
const IMAGE = [{ name: 'x', datatype: 'FP32', shape: [-1, 3] }];

describe('payloadTensors', () => {
  const tensors = (path: string, bytes: Buffer, inputs: readonly TensorDescription[] | null = IMAGE) =>
    payloadTensors({ path, bytes }, 'm', inputs).map(({ data, ...rest }) => ({ ...rest, data: [...data] }));
  const one = (shape: number[], data: Buffer) => [{ name: 'x', datatype: 'FP32', shape, data: [...data] }];

  it.each([
    ['a.bin', floats(1, 2, 3, 4, 5, 6), [2, 3]],
    ['a.JSON', json([{ name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 2, 3] }]), [1, 3]],
    [
      'nested.json',
      json([
        {
          name: 'x',
          datatype: 'FP32',
          shape: [2, 3],
          data: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
      ]),
      [2, 3],
    ],
  ])('takes the input from %s', (path, bytes, shape) => {
    const count = shape[0] as number;
    expect(tensors(path, bytes)).toEqual(one(shape, floats(1, 2, 3, 4, 5, 6).subarray(0, 12 * count)));
  });

  it('keeps 64-bit integers of JSON, and takes inputs by name', () => {
    const inputs = [
      { name: 'ids', datatype: 'INT64', shape: [-1] },
      { name: 'mask', datatype: 'BOOL', shape: [2] },
    ];
    const text =
      '{"inputs":[{"name":"mask","datatype":"BOOL","shape":[2],"data":[true,false]},{"name":"ids","datatype":"INT64","shape":[1],"data":[9007199254740993]}],"id":"7"}';
    const [ids, mask] = tensors('a.json', Buffer.from(text), inputs);
    expect([ids?.name, Buffer.from(ids?.data ?? []).readBigInt64LE()]).toEqual(['ids', 9007199254740993n]);
    expect(mask).toEqual({ name: 'mask', datatype: 'BOOL', shape: [2], data: [1, 0] });
  });

  const two = [...IMAGE, { name: 'y', datatype: 'FP32', shape: [1] }];
  it.each([
    [
      'a.json',
      json([{ name: 'x', datatype: 'FP64', shape: [1, 3], data: [1, 2, 3] }]),
      IMAGE,
      'input x of model m is FP32 [-1,3], but the file has FP64 [1,3]',
    ],
    ['a.bin', floats(1, 2), IMAGE, 'a multiple of 12 bytes, but the file has 8'],
    ['a.bin', floats(1), two, 'the model has 2 inputs (x, y): use a .json file'],
    [
      'a.bin',
      floats(1),
      [{ name: 'x', datatype: 'BYTES', shape: [-1, 2] }],
      'input x has several texts ([-1,2]), and the file is one: use a .json file',
    ],
    ['a.bin', floats(1), null, 'the server does not describe the inputs of model m: use a .json file'],
    ['a.json', Buffer.from('{"inputs":'), IMAGE, 'it is not JSON'],
    ['a.json', json([{ name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 2] }]), IMAGE, 'input "x"'],
  ])('refuses %s that does not fit, and says why (%#)', (path, bytes, inputs, reason) => {
    expect(() => payloadTensors({ path, bytes }, 'm', inputs)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringContaining(`--payload ${path}: `) }),
    );
    expect(() => payloadTensors({ path, bytes }, 'm', inputs)).toThrow(reason);
  });
});

describe('readPayloads', () => {
  it('gives each model the files of its folder, or all models the same, in the order of names', () => {
    const dir = tempDir();
    for (const name of ['b.bin', 'a.bin', '.hidden']) writeIn(dir, name, name);
    mkdirSync(join(dir, 'own'));
    writeIn(join(dir, 'own'), 'c.bin', 'c');
    const payloads = readPayloads(dir, ['own', 'other']);
    const names = (model: string) => payloads(model).map(({ path }) => path.slice(dir.length + 1));
    expect(names('own')).toEqual(['own/c.bin']);
    expect(names('other')).toEqual(['a.bin', 'b.bin']);
    expect(readPayloads(join(dir, 'a.bin'), ['own'])('own')).toHaveLength(1);
  });

  it('says where there is none', () => {
    expect(() => readPayloads('/nowhere', ['m'])).toThrow(
      expect.objectContaining({ code: 'E_FILE_MISSING' }),
    );
    expect(() => readPayloads(tempDir(), ['m'])).toThrow('the folder has no files for model m');
  });
});

it('names a file that cannot be read once', () => {
  const path = join(tempDir(), 'pipe');
  execFileSync('mkfifo', [path]);
  expect(() => readPayloads(path, ['m'])).toThrow(`${path}: --payload: is a named pipe, not a file`);
});

describe('payloads over the wire', () => {
  const files = () => {
    const dir = tempDir();
    writeIn(dir, '1.bin', floats(1, 2, 3));
    writeIn(dir, '2.bin', floats(4, 5, 6, 7, 8, 9));
    return readPayloads(dir, ['a', 'b']);
  };
  async function sendThree(url: string): Promise<void> {
    const target = await openTarget(url, { models: ['a', 'b'], seed: 1, payloads: files() });
    onTestFinished(() => target.close());
    for (let i = 0; i < 3; i++) {
      const outcome = await new Promise<Outcome>((resolve) =>
        target.send({ model: 0, sloNs: NS_PER_S }, resolve),
      );
      expect(outcome).toBe(OUTCOME_OK);
    }
  }

  it.each([true, false])('are sent in turn over HTTP (binary: %s)', async (binary) => {
    const seen: Inference[] = [];
    const server = await HttpServer.open({
      extensions: binary ? ['binary_tensor_data'] : [],
      infer: (inference) => {
        seen.push(inference);
        inference.answer(200);
      },
    });
    await sendThree(server.url);
    expect(seen.map(({ json: { inputs } }) => inputs[0]?.shape)).toEqual([
      [1, 3],
      [2, 3],
      [1, 3],
    ]);
    if (binary) expect(seen.map((each) => each.binary.readFloatLE(8))).toEqual([3, 6, 3]);
    else expect(seen[1]?.json.inputs[0]?.data).toEqual([4, 5, 6, 7, 8, 9]);
  });

  it('are sent in turn over gRPC', async () => {
    const seen: GrpcInference[] = [];
    const server = await GrpcServer.open({ infer: (inference) => seen.push(inference) * 0 });
    await sendThree(server.url);
    expect(seen.map(({ inputs }) => inputs[0]?.shape)).toEqual([
      [1, 3],
      [2, 3],
      [1, 3],
    ]);
    expect(seen.map(({ raw_input_contents: [raw] }) => raw?.length)).toEqual([12, 24, 12]);
    expect(seen[1]?.raw_input_contents[0]?.equals(floats(4, 5, 6, 7, 8, 9))).toBe(true);
  });
});
