import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/live/frontend/api-error.js';
import { decodeBody } from '../../../src/live/frontend/http-body.js';
import { DATATYPES, type Datatype, type ServedModel } from '../../../src/live/model.js';
import { echoModel, type TensorSketch } from './fake-service.js';
import { type InferTask, Refused, readSlowly } from './slow-infer-body.js';

const LIMITS = { maxBatch: 3, maxBodyBytes: 4096, maxJsonBytes: 1e6, defaultSloNs: 100_000_000, classes: [] };
const NAMES = Object.keys(DATATYPES) as Datatype[];

const MODELS: readonly ServedModel[] = [
  ...NAMES.map((datatype) => echoModel('one', datatype !== 'BYTES', [['x', datatype, [2]]])),
  ...NAMES.map((datatype) => echoModel('free', false, [['x', datatype, [-1, 2]]], 5_000_000)),
  echoModel('two', true, [
    ['x', 'FP32', [2, 2]],
    ['y', 'UINT8', []],
  ]),
  echoModel('mixed', false, [
    ['x', 'INT64', [-1]],
    ['t', 'BYTES', [2]],
  ]),
];

/** At and beyond what datatypes hold, and halfway between two halves. */
const EDGES = [
  ...[-0, 0.5, -1, -129, 255, 256, -32_769, 65_535, 65_536, -(2 ** 31), 2 ** 31, 2 ** 32, 2 ** 53 - 1],
  ...[2049, 2051, 65_519, 65_520, 1.5 * 2 ** -19, 2 ** -16],
];
const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(...EDGES, '', '1', 'x', null, {}, [], [[]], true),
);
const edge = { weight: 1, arbitrary: fc.constantFrom(...EDGES) };
/** Mostly what it should be. */
const mostly = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 40, arbitrary }, { weight: 1, arbitrary: junk });
const maybe = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(undefined, null) }, { weight: 2, arbitrary });

function value(datatype: Datatype): fc.Arbitrary<unknown> {
  if (datatype === 'BYTES') return fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 3 }));
  if (datatype === 'BOOL') return fc.constantFrom(true, false, 0, 1);
  const small = fc.integer({ min: datatype.startsWith('UINT') ? 0 : -128, max: 127 });
  return datatype.startsWith('FP')
    ? fc.oneof(small, fc.float({ noNaN: true, max: 65_000, min: -65_000 }))
    : small;
}

function nested(values: readonly unknown[], shape: readonly number[]): unknown {
  if (shape.length <= 1) return values;
  const size = values.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) =>
    nested(values.slice(i * size, (i + 1) * size), shape.slice(1)),
  );
}

/** A tensor, and the bytes that follow the JSON for it. */
function tensor(
  [name, datatype, sizes]: TensorSketch,
  shape: readonly number[],
): fc.Arbitrary<{ json: unknown; binary: Uint8Array }> {
  const elements = shape.reduce((product, size) => product * size, 1);
  const values = fc.array(mostly(fc.oneof({ weight: 9, arbitrary: value(datatype) }, edge)), {
    minLength: elements,
    maxLength: elements,
  });
  const data = fc.tuple(values, fc.boolean()).map(([flat, isNested]) => ({
    rest: { data: isNested ? nested(flat, shape) : flat },
    binary: new Uint8Array(),
  }));
  const size = elements * DATATYPES[datatype].bytes;
  const zeros = fc.constant(new Uint8Array(size));
  const bytes = fc.oneof(zeros, fc.uint8Array({ minLength: size, maxLength: size })).map((binary) => ({
    rest: { parameters: { binary_data_size: binary.length } },
    binary,
  }));
  return fc
    .tuple(
      mostly(fc.constant(name)),
      mostly(fc.constant(datatype)),
      mostly(fc.constant(shape)),
      fc.oneof(data, bytes),
    )
    .map(([...[given, type, claimed, { rest, binary }]]) => ({
      json: { name: given, datatype: type, shape: claimed, ...rest },
      binary,
    }))
    .filter(() => sizes.length <= shape.length);
}

function outputs(model: ServedModel): fc.Arbitrary<unknown> {
  const names = model.signature.outputs.map(({ name }) => name);
  const parameters = fc.record(
    { binary_data: mostly(fc.boolean()), classification: mostly(fc.nat(3)), content_type: fc.string() },
    { requiredKeys: [] },
  );
  const one = fc.record({ name: mostly(fc.constantFrom(...names)), parameters: maybe(parameters) });
  return maybe(fc.array(mostly(one), { maxLength: 2 }));
}

const parameters = fc.record(
  {
    slo_ms: mostly(fc.option(fc.nat(1000))),
    timeout: mostly(fc.option(fc.nat(1000))),
    binary_data_output: mostly(fc.boolean()),
    priority: mostly(fc.constantFrom(0, '', null)),
    headers: junk,
  },
  { requiredKeys: [] },
);

/** An inference body for one of the models, nearly right. */
const tasks: fc.Arbitrary<InferTask> = fc
  .tuple(fc.constantFrom(...MODELS), fc.integer({ min: 1, max: 3 }), fc.nat(2))
  .chain(([model, batch, free]) => {
    const { inputs, batched } = model.signature;
    const tensors = inputs.map(({ name, datatype, shape }) => {
      const sizes = shape.map((size) => (size === -1 ? free : size));
      return tensor([name, datatype, shape], batched ? [batch, ...sizes] : sizes);
    });
    return fc
      .tuple(fc.tuple(...tensors), maybe(mostly(fc.string())), maybe(mostly(parameters)), outputs(model))
      .map(([given, id, asked, wanted]) => {
        const inputs = given.map(({ json }) => json);
        const json = Buffer.from(JSON.stringify({ id, parameters: asked, inputs, outputs: wanted }));
        const body = Buffer.concat([json, ...given.map(({ binary }) => binary)]);
        return { body, jsonBytes: json.length, model, limits: LIMITS };
      });
  });

const mutations = fc.array(
  fc.record({
    at: fc.nat(),
    cut: fc.nat(2),
    put: fc.oneof(fc.uint8Array({ maxLength: 2 }), bytesOf('[]{},:"\\0-e')),
  }),
  { minLength: 1, maxLength: 3 },
);

function bytesOf(characters: string): fc.Arbitrary<Uint8Array> {
  return fc.constantFrom(...characters).map((character) => Buffer.from(character));
}

/** The same body with some bytes changed; the JSON may end elsewhere then. */
const mutated = fc
  .tuple(tasks, mutations, fc.integer({ min: -1, max: 1 }))
  .map(([task, list, moved]): InferTask => {
    let body = Buffer.from(task.body);
    for (const { at, cut, put } of list) {
      const from = at % (body.length + 1);
      body = Buffer.concat([body.subarray(0, from), put, body.subarray(from + cut)]);
    }
    const jsonBytes = Math.min(
      body.length,
      Math.max(1, task.jsonBytes + body.length - task.body.length + moved),
    );
    return { ...task, body, jsonBytes };
  });

/** Numbers that the reference does not know: see its comment. */
const BEYOND = /NaN|Inf|\d{16}|[eE]\+?\d/;

/** Reads with both; `null`: refused. Whatever else is thrown fails the test. */
function compare(task: InferTask): unknown {
  const read = fast(task);
  if (BEYOND.test(Buffer.from(task.body).toString('latin1'))) return read;
  expect(read).toEqual(slow(task));
  return read;
}

function decoded({ body, jsonBytes, ...task }: InferTask) {
  const pieces = [body.subarray(0, 5), body.subarray(5)];
  return decodeBody({ ...task, pieces, compression: null, jsonHeader: String(jsonBytes) });
}

function fast(task: InferTask): unknown {
  try {
    const { inputs, ...rest } = decoded(task);
    return { ...rest, inputs: inputs.map((bytes) => Buffer.from(bytes).toString('hex')) };
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return null;
  }
}

function slow(task: InferTask): unknown {
  try {
    return readSlowly(task);
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

/** Runs it, and makes sure that it saw both: bodies that are right, and others. */
function agree(arbitrary: fc.Arbitrary<InferTask>, numRuns: number): void {
  const seen = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(arbitrary, (task) => {
      seen[compare(task) === null ? 'refused' : 'taken']++;
    }),
    { numRuns },
  );
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(0);
}

describe('an inference body is read or refused as by a slow reading of the protocol', () => {
  it('when it is nearly right', () => agree(tasks, 600));

  it('when bytes of it are changed', () => agree(mutated, 600));

  it('when it is the only input itself', () => {
    const whole = fc
      .tuple(
        fc.constantFrom(...MODELS.filter(({ signature }) => signature.inputs[0].datatype !== 'BYTES')),
        fc.nat(4),
      )
      .chain(([model, sizes]) => {
        const right = sizes * Math.abs(model.signature.inputs[0].bytes);
        return fc
          .oneof(fc.constant(right), fc.nat(40))
          .chain((size) => fc.uint8Array({ minLength: size, maxLength: size }))
          .map((body): InferTask => ({ body, jsonBytes: 0, model, limits: LIMITS }));
      });
    agree(whole, 500);
  });
});
