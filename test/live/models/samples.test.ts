import { describe, expect, it } from 'vitest';
import type { ModelSignature } from '../../../src/live/model.js';
import { readConfigPbtxt } from '../../../src/live/models/config-pbtxt.js';
import { readSamples, samplesDigest } from '../../../src/live/models/samples.js';
import { failure, tempDir, writeIn } from './fixtures.js';

const SIGNATURE: ModelSignature = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [2], bytes: 8 },
    { name: 'i', datatype: 'INT64', shape: [1], bytes: 8 },
  ],
  outputs: [],
  batched: true,
};
const ROWS = [1, 3, 5].map((x, r) => ({
  x: { shape: [2], bytes: floats(x, x + 1) },
  i: { shape: [1], bytes: long(7 + r) },
}));

describe('inputs for measuring', () => {
  it('are rows of requests', () => {
    const dir = tempDir();
    const body = (from: number, rows: number[][]) => ({
      inputs: [
        { name: 'x', shape: [rows.length, 2], datatype: 'FP32', data: rows.flat() },
        { name: 'i', shape: [rows.length, 1], datatype: 'INT64', data: rows.map((_, r) => [from + r]) },
      ],
    });
    writeIn(
      dir,
      'in.json',
      JSON.stringify([
        body(7, [
          [1, 2],
          [3, 4],
        ]),
        body(9, [[5, 6]]),
      ]),
    );
    const samples = readSamples(dir, { samples: 'in.json' }, SIGNATURE);
    expect(samples).toEqual(ROWS);
    expect(samplesDigest(samples)).not.toBe(samplesDigest(samples.slice(1)));
  });

  it('are what model_warmup has', () => {
    const dir = tempDir();
    writeIn(dir, 'warmup/long', long(7));
    const input = (name: string, rest: string) => `inputs { key: "${name}" value { ${rest} } }`;
    const fields = [input('x', 'dims: [ 2 ] zero_data: true'), input('i', 'dims: 1 input_data_file: "long"')];
    const path = writeIn(dir, 'config.pbtxt', `model_warmup { name: "one" ${fields.join(' ')} }`);
    const { settings } = readConfigPbtxt(path, 'm');
    const expected = { x: { shape: [2], bytes: floats(0, 0) }, i: { shape: [1], bytes: long(7) } };
    expect(readSamples(dir, settings, SIGNATURE).map((one) => JSON.stringify(one))).toEqual([
      JSON.stringify({ ...expected, i: { shape: [1], bytes: Buffer.from(long(7)) } }),
    ]);
  });

  it.each([
    [
      'in.json',
      '{"inputs":[{"name":"z","shape":[1],"data":[1]}]}',
      'z is not an input of the model, whose inputs are x, i',
    ],
    [
      'in.json',
      '{"inputs":[{"name":"x","shape":[3],"data":[1,2,3]}]}',
      'input x is [3], and the model takes [-1,2]',
    ],
    [
      'in.json',
      '{"inputs":[{"name":"x","shape":[3,2],"data":[1]}]}',
      'input "x": expected 6 elements, got 1',
    ],
    ['in.json', '[1]', 'it is no request of the Open Inference Protocol, nor a list of them'],
    ['../in.json', '', "samples must be in the model's folder"],
    ['gone.json', null, "no such file of samples in the model's folder"],
  ])('in %s that do not fit are refused: %s', async (samples, content, why) => {
    const dir = tempDir();
    if (content !== null) writeIn(dir, `m/${samples}`, content);
    const { message } = await failure((async () => readSamples(`${dir}/m`, { samples }, SIGNATURE))());
    expect(message).toContain(why);
  });
});

function floats(...values: number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

function long(value: number): Uint8Array {
  return new Uint8Array(BigInt64Array.of(BigInt(value)).buffer);
}
