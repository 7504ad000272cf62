import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/live/frontend/api-error.js';
import { bytesOfContents, readInferMessage } from '../../../../src/live/frontend/grpc/infer.js';
import { PROTOCOL_FILE } from '../../../../src/live/frontend/grpc/protocol.js';
import type { Datatype } from '../../../../src/live/model.js';

// The reference is protobufjs.
// biome-ignore lint/suspicious/noExplicitAny: its types are not worth spelling out here
const SERVICE = loadSync(PROTOCOL_FILE, { keepCase: true })['inference.GRPCInferenceService'] as any;
const encode = (message: object): Uint8Array<ArrayBuffer> =>
  new Uint8Array(SERVICE.ModelInfer.requestSerialize(message));

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const parameter = fc.oneof(
  fc.boolean().map((value) => [value, { bool_param: value }] as const),
  fc.maxSafeInteger().map((value) => [value, { int64_param: value }] as const),
  text.map((value) => [value, { string_param: value }] as const),
  fc.double({ noNaN: true }).map((value) => [value, { double_param: value }] as const),
);
const parameters = fc.dictionary(
  text.filter((name) => name !== '__proto__'),
  parameter,
  { maxKeys: 4 },
);
type Drawn = Record<string, readonly [unknown, object]>;
const sent = (drawn: Drawn) => Object.fromEntries(Object.entries(drawn).map(([name, [, it]]) => [name, it]));
const expected = (drawn: Drawn) =>
  Object.fromEntries(Object.entries(drawn).map(([name, [value]]) => [name, value]));

const request = fc.record({
  model_name: text,
  model_version: text,
  id: text,
  parameters,
  inputs: fc.array(
    fc.record({
      name: text,
      datatype: text,
      shape: fc.array(fc.maxSafeInteger(), { maxLength: 5 }),
      parameters,
    }),
    { maxLength: 4 },
  ),
  outputs: fc.array(fc.record({ name: text, parameters }), { maxLength: 4 }),
  raw_input_contents: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }),
});

describe('a ModelInferRequest', () => {
  it('is read as protobufjs wrote it', () => {
    fc.assert(
      fc.property(request, (drawn) => {
        const read = readInferMessage(
          encode({
            ...drawn,
            parameters: sent(drawn.parameters),
            inputs: drawn.inputs.map((input) => ({ ...input, parameters: sent(input.parameters) })),
            outputs: drawn.outputs.map((output) => ({ ...output, parameters: sent(output.parameters) })),
          }),
        );
        expect([read.model_name, read.model_version, read.id]).toEqual([
          drawn.model_name,
          drawn.model_version,
          drawn.id,
        ]);
        expect(read.parameters).toEqual(expected(drawn.parameters));
        // Fields with their defaults are not those of the object itself.
        const inputs = read.inputs.map(({ name, datatype, shape, parameters: given, contents }) => ({
          ...{ name, datatype, shape, parameters: given, contents },
        }));
        expect(inputs).toEqual(
          drawn.inputs.map((input) => ({
            ...input,
            // protobuf knows no negative zero among whole numbers.
            shape: input.shape.map((size) => size + 0),
            parameters: expected(input.parameters),
            contents: [],
          })),
        );
        expect(read.outputs.map(({ name, parameters: given }) => ({ name, parameters: given }))).toEqual(
          drawn.outputs.map(({ name, parameters: given }) => ({ name, parameters: expected(given) })),
        );
        expect(read.raw_input_contents.map((bytes) => [...bytes])).toEqual(
          drawn.raw_input_contents.map((bytes) => [...bytes]),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('is refused, never anything else, when its bytes are changed', () => {
    fc.assert(
      fc.property(request, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }), (drawn, changes) => {
        const bytes = encode({ ...drawn, parameters: {}, inputs: [], outputs: [] });
        for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
        try {
          expect(readInferMessage(bytes).inputs).toEqual([]);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('names 4,096 inputs and outputs at most', () => {
    const named = (count: number) => () =>
      readInferMessage(Buffer.concat([repeated([5 * 8 + 2, 0], count), repeated([6 * 8 + 2, 0], count)]));
    expect(named(2048)().inputs.length).toBe(2048);
    expect(named(2049)).toThrow('the message names more than 4096 inputs and outputs');
  });

  it('passes over fields that it does not know, of every wire type', () => {
    const unknown = [
      [0xa0, 0x06, 0x96, 0x01],
      [0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8],
      [0xa2, 0x06, 3, 1, 2, 3],
      [0xa5, 0x06, 1, 2, 3, 4],
      // A group with a group inside.
      [0xa3, 0x06, 0xab, 0x06, 0x08, 0x01, 0xac, 0x06, 0xa4, 0x06],
    ];
    const bytes = new Uint8Array([...unknown.flat(), 0x0a, 3, 109, 108, 112, ...unknown.flat()]);
    expect(readInferMessage(bytes).model_name).toBe('mlp');
  });

  it.each([
    ['millions of empty sub-messages', () => repeated([0x2a, 0], 4_000_000)],
    ['millions of sizes', () => field(5, field(3, repeated([1], 4_000_000)))],
    ['millions of parameters', () => repeated([0x22, 0], 4_000_000)],
    ['groups without end', () => repeated([0xa3, 0x06], 1_000_000)],
    ['a length beyond the message', () => new Uint8Array([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
    ['a varint that does not end', () => new Uint8Array([0x08, ...new Array(20).fill(0xff)])],
  ])('with %s is refused', (_, make) => {
    const bytes = make();
    expect(() => readInferMessage(bytes)).toThrow(ApiError);
  });
});

describe('typed contents', () => {
  const arrays = {
    BOOL: ['bool_contents', Uint8Array, fc.boolean()],
    INT8: ['int_contents', Int8Array, fc.integer({ min: -128, max: 127 })],
    INT16: ['int_contents', Int16Array, fc.integer({ min: -32768, max: 32767 })],
    INT32: ['int_contents', Int32Array, fc.integer()],
    UINT8: ['uint_contents', Uint8Array, fc.nat(255)],
    UINT16: ['uint_contents', Uint16Array, fc.nat(65535)],
    UINT32: ['uint_contents', Uint32Array, fc.nat(0xffffffff)],
    FP32: ['fp32_contents', Float32Array, fc.float()],
    FP64: ['fp64_contents', Float64Array, fc.double()],
  } as const;

  it.each(Object.keys(arrays) as (keyof typeof arrays)[])(
    'of %s are read as protobufjs wrote them',
    (datatype) => {
      const [list, View, element] = arrays[datatype];
      const values = fc.array(element as fc.Arbitrary<number | boolean>, { maxLength: 50 });
      fc.assert(
        fc.property(values, (drawn) => {
          const expectedBytes = new Uint8Array(View.from(drawn.map(Number)).buffer);
          expect(decoded(datatype, drawn.length, { [list]: drawn })).toEqual(expectedBytes);
        }),
      );
    },
  );

  it.each([
    ['INT64', 'int64_contents', BigInt64Array, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
    ['UINT64', 'uint64_contents', BigUint64Array, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  ] as const)('of %s keep all their bits', (datatype, list, View, element) => {
    fc.assert(
      fc.property(fc.array(element as fc.Arbitrary<bigint>, { maxLength: 50 }), (drawn) => {
        const expectedBytes = new Uint8Array(View.from(drawn).buffer);
        const longs = drawn.map((value) => longOf(value, datatype === 'UINT64'));
        expect(decoded(datatype, drawn.length, { [list]: longs })).toEqual(expectedBytes);
      }),
    );
  });

  it('of BYTES get their lengths', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 20 }), (drawn) => {
        const expectedBytes = Buffer.concat(
          drawn.flatMap((element) => [Buffer.from(Uint32Array.of(element.length).buffer), element]),
        );
        const read = decoded('BYTES', drawn.length, { bytes_contents: drawn });
        expect(Buffer.compare(read, expectedBytes)).toBe(0);
        expect(() => decoded('BYTES', drawn.length + 1, { bytes_contents: drawn })).toThrow(ApiError);
      }),
    );
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
function longOf(value: bigint, unsigned: boolean) {
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)), unsigned };
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
