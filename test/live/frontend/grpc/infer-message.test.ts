import { loadSync } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/live/frontend/api-error.js';
import { bytesOfContents, readInferMessage } from '../../../../src/live/frontend/grpc/infer.js';
import { PROTOCOL_FILE } from '../../../../src/live/frontend/grpc/protocol.js';
import type { Datatype } from '../../../../src/live/model.js';

// biome-ignore lint/suspicious/noExplicitAny: its types are not worth spelling out here
const SERVICE = loadSync(PROTOCOL_FILE, { keepCase: true })['inference.GRPCInferenceService'] as any;
const encode = (message: object): Uint8Array<ArrayBuffer> =>
  new Uint8Array(SERVICE.ModelInfer.requestSerialize(message));

describe('a ModelInferRequest', () => {
  it('has its parameters and shapes as plain values', () => {
    const parameters = {
      slo_ms: { double_param: 1.5 },
      timeout: { uint64_param: Number.MAX_SAFE_INTEGER },
      urgent: { bool_param: true },
      note: { string_param: '' },
      none: {},
    };
    const values = { slo_ms: 1.5, timeout: Number.MAX_SAFE_INTEGER, urgent: true, note: '', none: null };
    const inputs = [{ name: 'x', shape: [-1, 2 ** 40], parameters }];
    const read = readInferMessage(encode({ parameters, inputs, outputs: [{ name: 'y', parameters }] }));
    expect(read.parameters).toEqual(values);
    expect(read.inputs[0]).toMatchObject({ name: 'x', shape: [-1, 2 ** 40], parameters: values });
    expect(read.outputs[0].parameters).toEqual(values);
  });

  it('names 4,096 inputs and outputs at most', () => {
    const named = (count: number) => () =>
      readInferMessage(Buffer.concat([repeated([5 * 8 + 2, 0], count), repeated([6 * 8 + 2, 0], count)]));
    expect(named(2048)().inputs.length).toBe(2048);
    expect(named(2049)).toThrow('the message names more than 4096 inputs and outputs');
  });

  it.each([
    ['millions of empty sub-messages', () => repeated([0x2a, 0], 4_000_000)],
    ['millions of sizes', () => field(5, field(3, repeated([1], 4_000_000)))],
    ['millions of parameters', () => repeated([0x22, 0], 4_000_000)],
    ['a length beyond the message', () => new Uint8Array([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
  ])('with %s is refused', (_, make) => {
    const bytes = make();
    expect(() => readInferMessage(bytes)).toThrow(ApiError);
  });
});

describe('typed contents', () => {
  it.each([
    ['BOOL', 'bool_contents', Uint8Array.of(1, 0), [true, false]],
    ['INT8', 'int_contents', Int8Array.of(-128, 127), [-128, 127]],
    ['INT16', 'int_contents', Int16Array.of(-32_768, 32_767), [-32_768, 32_767]],
    ['INT32', 'int_contents', Int32Array.of(-(2 ** 31), 2 ** 31 - 1), [-(2 ** 31), 2 ** 31 - 1]],
    ['INT64', 'int64_contents', BigInt64Array.of(-(2n ** 63n), -2n), [longOf(-(2n ** 63n)), longOf(-2n)]],
    ['UINT8', 'uint_contents', Uint8Array.of(0, 255), [0, 255]],
    ['UINT16', 'uint_contents', Uint16Array.of(0, 65_535), [0, 65_535]],
    ['UINT32', 'uint_contents', Uint32Array.of(0, 2 ** 32 - 1), [0, 2 ** 32 - 1]],
    ['UINT64', 'uint64_contents', BigUint64Array.of(2n ** 64n - 2n), [longOf(2n ** 64n - 2n)]],
    ['FP32', 'fp32_contents', Float32Array.of(0.1, -0), [0.1, -0]],
    ['FP64', 'fp64_contents', Float64Array.of(0.1, Number.NaN), [0.1, Number.NaN]],
    ['BYTES', 'bytes_contents', Uint8Array.of(0, 0, 0, 0, 2, 0, 0, 0, 7, 8), [[], [7, 8]].map(Buffer.from)],
  ] as const)('of %s become its bytes', (datatype, list, expected, elements) => {
    const read = decoded(datatype, elements.length, { [list]: elements });
    expect(Buffer.from(read)).toEqual(Buffer.from(expected.buffer));
    expect(() => decoded(datatype, elements.length + 1, { [list]: elements })).toThrow(ApiError);
  });

  it('are read also where they are not packed, or in several lists', () => {
    const one = [0x10, 5];
    const packed = [0x12, 2, 6, 7];
    const bytes = field(5, field(5, new Uint8Array([...one, ...packed, ...one])));
    const { contents } = readInferMessage(bytes).inputs[0];
    const tensor = { name: 'x', datatype: 'INT32' as const, count: 4, parts: contents };
    expect([...new Int32Array(bytesOfContents(tensor, 100).buffer)]).toEqual([5, 6, 7, 5]);
  });

  it.each([
    ['fewer than the shape says', { int_contents: [1, 2] }, 'expected 3 elements in int_contents, got 2'],
    [
      'more than the shape says',
      { int_contents: [1, 2, 3, 4] },
      'expected 3 elements in int_contents, got more',
    ],
    ['of another type', { fp32_contents: [1, 2, 3] }, 'expected int_contents, got fp32_contents'],
  ])('are refused if they are %s', (_, contents, message) => {
    expect(() => decoded('INT32', 3, contents)).toThrow(message);
  });

  it('get no memory by their shape alone', () => {
    const bytes = encode({ inputs: [{ contents: { int64_contents: [1] } }] });
    const parts = readInferMessage(bytes).inputs[0].contents;
    const before = process.memoryUsage().arrayBuffers;
    const tensor = { name: 'x', datatype: 'INT64' as const, count: 2 ** 27, parts };
    expect(() => bytesOfContents(tensor, 100)).toThrow('expected 134217728 elements');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 27);
  });
});

function decoded(datatype: Datatype, count: number, contents: object): Uint8Array {
  const bytes = encode({ inputs: [{ name: 'x', contents }] });
  const parts = readInferMessage(bytes).inputs[0].contents;
  return bytesOfContents({ name: 'x', datatype, count, parts }, 10_000);
}

/** As protobufjs takes 64-bit numbers. */
function longOf(value: bigint) {
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) };
}

function repeated(part: readonly number[], times: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.alloc(part.length * times, Buffer.from(part)));
}

function field(number: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return new Uint8Array(Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]));
}
