import type { ConformCase } from '../case.js';
import { check, skip } from '../finding.js';
import { type JsonInput, jsonInputs } from '../model/requests.js';
import { modelPath, type Subject } from '../model/subject.js';
import { DATATYPES, elementsOf } from '../model/tensors.js';
import { shown } from '../plain.js';
import type { Trial } from '../trial.js';
import { type HttpAnswer, isObject } from '../wire/http-answer.js';

const MISSING = 'conform-no-such-model';
const SECTION = 'REST, Inference Response JSON Error Object';

/** Something that a client should not have asked. */
interface Mistake {
  readonly name: string;
  readonly what: string;
  readonly ask: (trial: Trial) => Promise<HttpAnswer>;
  /** Why it cannot be made with a model; null: it can. Absent: it always can. */
  readonly cannot?: (subject: Subject) => string | null;
}

/** Mistakes in requests, each of which must be answered with an error. */
const MISTAKES: readonly Mistake[] = [
  body('bad-json', 'a body that is not JSON', () => '{"inputs": [}'),
  body('empty-body', 'an empty body', () => ''),
  body('not-an-object', 'a body that is a list', () => '[]'),
  body('no-inputs', 'a request without "inputs"', () => ({ id: '1' })),
  body('inputs-no-list', '"inputs" that is no list', () => ({ inputs: 'x' })),
  body('missing-input', 'a request that lacks an input', ({ inputs }) => ({ inputs: inputs.slice(1) })),
  first('unknown-input', 'an input that the model does not have', () => ({ name: 'conform-no-such-input' })),
  body('duplicate-input', 'an input given twice', ({ inputs }) => ({ inputs: [...inputs, inputs[0]] })),
  first('unknown-datatype', 'a datatype that does not exist', () => ({ datatype: 'FLOAT' })),
  first('no-datatype', 'an input without a datatype', () => ({ datatype: undefined })),
  first('no-shape', 'an input without a shape', () => ({ shape: undefined })),
  first('no-data', 'an input without data', () => ({ data: undefined })),
  first('null-data', 'data that is null', () => ({ data: null })),
  first('short-data', 'fewer elements than the shape has', ({ data }) => ({
    data: (data as unknown[]).slice(1),
  })),
  first('long-data', 'more elements than the shape has', ({ data }) => ({
    data: [...(data as unknown[]), ...(data as unknown[])],
  })),
  first('rank', 'a shape with too many dimensions', ({ shape }) => ({ shape: [1, 1, ...shape] })),
  first('negative-shape', 'a negative size', ({ shape }) => ({ shape: [-1, ...shape.slice(1)] })),
  first('fraction-shape', 'a size that is no integer', ({ shape }) => ({ shape: [1.5, ...shape.slice(1)] })),
  {
    ...first('overflow-shape', 'sizes whose product passes 64 bits', ({ shape }) => ({
      shape: shape.map(() => 4_294_967_296),
    })),
    cannot: ({ inputs }) =>
      inputs[0]!.shape.length > 0 ? null : "the model's first input has no dimensions",
  },
  first('object-element', 'an element that is an object', ({ data }) => ({
    data: [{}, ...(data as unknown[]).slice(1)],
  })),
  body('unknown-output', 'an output that the model does not have', ({ inputs }) => ({
    inputs,
    outputs: [{ name: 'conform-no-such-output' }],
  })),
  {
    name: 'wrong-datatype',
    what: 'a datatype that is not that of the model',
    ask: async (trial) => {
      const [input, ...others] = trial.inputs();
      const datatype = input!.datatype === 'INT64' ? 'FP64' : 'INT64';
      const data = elementsOf(input!).map(() => 1);
      const { name, shape } = input!;
      return trial.infer({}, { inputs: [{ name, datatype, shape, data }, ...jsonInputs(others)] });
    },
  },
  {
    name: 'fixed-size',
    what: 'another size of a dimension that the metadata fixes',
    ask: async (trial) => {
      const inputs = trial.subject.inputs.map((input) => ({
        ...input,
        shape: input.shape.map((size) => (size > 0 ? size + 1 : size)),
      }));
      const larger = inputs.map(({ name, datatype, shape }) => {
        const sizes = shape.map((size) => Math.abs(size));
        const count = sizes.reduce((product, size) => product * size, 1);
        return {
          name,
          datatype,
          shape: sizes,
          data: Array.from({ length: count }, () => anyElement(datatype)),
        };
      });
      return trial.infer({}, { inputs: larger });
    },
    cannot: ({ inputs }) =>
      inputs.some(({ shape }) => shape.some((size) => size > 0))
        ? null
        : "the model's metadata fixes no dimension; --model NAME asks another model",
  },
  asked('unknown-model', 'an inference of an unknown model', ({ http }) =>
    http.post(`${modelPath(MISSING)}/infer`, { inputs: [] }),
  ),
  asked('unknown-model-metadata', 'the metadata of an unknown model', ({ http }) =>
    http.get(modelPath(MISSING)),
  ),
  asked('unknown-version', 'an inference of an unknown version', (trial) =>
    trial.infer({}, { path: modelPath(trial.subject.name, '987654321') }),
  ),
  asked('unknown-version-metadata', 'the metadata of an unknown version', ({ http, subject }) =>
    http.get(modelPath(subject.name, '987654321')),
  ),
];

/** Mistakes that the specification does not spell out: a server may have meant to accept them. */
const UNWRITTEN: readonly string[] = [
  ...['unknown-input', 'duplicate-input', 'rank', 'unknown-output', 'wrong-datatype', 'fixed-size'],
];

/** A case for each mistake, and what holds of all. */
export const ERRORS: readonly ConformCase[] = [
  ...MISTAKES.map(
    ({ name, what, ask, cannot }): ConformCase => ({
      id: `errors.${name}`,
      level: UNWRITTEN.includes(name) ? 'advice' : 'required',
      section: SECTION,
      says: `${what} is refused: an error status and {"error": …}`,
      run: async (trial) => {
        const reason = cannot?.(trial.subject) ?? null;
        if (reason !== null) skip(reason);
        checkError(await ask(trial));
      },
    }),
  ),
  {
    id: 'errors.unknown-model-ready',
    level: 'required',
    section: 'REST, Model Ready',
    says: 'an unknown model is not ready',
    run: async ({ http }) => {
      const { status } = await http.get(`${modelPath(MISSING)}/ready`);
      check(status >= 400, `the status is ${status}`);
    },
  },
  {
    id: 'errors.status',
    level: 'advice',
    section: 'RFC 9110, 15.5 and 15.6',
    says: "a client's mistake has a status of 400 to 499, not one that blames the server",
    run: async (trial) => {
      const blamed: string[] = [];
      for (const { name, ask, cannot } of MISTAKES) {
        if ((cannot?.(trial.subject) ?? null) !== null) continue;
        const { status } = await ask(trial);
        if (status >= 500) blamed.push(`${name}: ${status}`);
      }
      check(blamed.length === 0, blamed.join(', '));
    },
  },
  {
    id: 'errors.unknown-path',
    level: 'advice',
    section: 'RFC 9110, 15.5.5',
    says: 'a path that the protocol does not have is answered 404',
    run: async ({ http }) => {
      const { status } = await http.get('/v2/conform/no-such-path');
      check(status === 404, `the status is ${status}`);
    },
  },
  {
    id: 'errors.method',
    level: 'advice',
    section: 'RFC 9110, 15.5.6',
    says: 'GET …/infer is answered 405 with Allow, or 404',
    run: async ({ http, path }) => {
      const { status, headers } = await http.get(`${path}/infer`);
      check(status === 405 || status === 404, `the status is ${status}`);
      check(status === 404 || headers.has('allow'), 'the answer has no Allow header');
    },
  },
];

/** Fails unless the answer is an error as the protocol wants it. */
export function checkError(answer: HttpAnswer): void {
  check(answer.status >= 400, `the status is ${answer.status}: ${shown(answer.text.slice(0, 200))}`);
  const value = answer.json();
  check(isObject(value) && typeof value.error === 'string', `the body is ${shown(value)}, not {"error": …}`);
  check(value.error !== '', 'the message is empty');
}

function asked(name: string, what: string, ask: Mistake['ask']): Mistake {
  return { name, what, ask };
}

function body(name: string, what: string, make: (of: { inputs: JsonInput[] }) => unknown): Mistake {
  return { name, what, ask: (trial) => trial.postInfer(make({ inputs: jsonInputs(trial.inputs()) })) };
}

/** A change to the first input. */
function first(name: string, what: string, change: (input: JsonInput) => object): Mistake {
  return body(name, what, ({ inputs: [input, ...others] }) => ({
    inputs: [{ ...input, ...change(input!) }, ...others],
  }));
}

function anyElement(datatype: string): unknown {
  return datatype === 'BOOL' ? true : DATATYPES[datatype]!.bytes === 0 ? 'x' : 0;
}
