import { z } from 'zod';
import { type Ask, type Case, check, Ending, rows, shown, skip } from '../case.js';
import { get, json, named, post, refused, same, status } from '../columns.js';
import type { HttpAnswer } from '../http.js';
import { checkSame, countOf, outputsOfHttp } from '../tensors.js';
import {
  INFER,
  type JsonInput,
  jsonInputs,
  MISSING,
  MODEL,
  NO_VERSION,
  type Trial,
  VERSION,
} from '../trial.js';

const TEXT = z.string();
const TENSORS = z.array(z.object({ name: TEXT, datatype: TEXT, shape: z.array(z.int().min(-1)) }));
const LIVE = z.object({ live: z.literal(true) });
const READY = z.object({ ready: z.literal(true) });
export const SERVER_METADATA = z.object({ name: TEXT, version: TEXT, extensions: z.array(TEXT) });
export const MODEL_METADATA = z.object({
  ...{ name: TEXT, versions: z.array(TEXT).default([]), platform: TEXT },
  ...{ inputs: TENSORS, outputs: TENSORS },
});

const http = rows('http');

export const HTTP: readonly Case[] = [
  http.required('live', get('/v2/health/live'), status(200)),
  // The OpenAPI file has no bodies.
  http.advice('live-body', get('/v2/health/live'), json(LIVE)),
  http.required('ready', get('/v2/health/ready'), status(200)),
  // The specification calls it "live"; clients expect "ready".
  http.advice('ready-body', get('/v2/health/ready'), json(READY.or(LIVE))),
  http.required('model-ready', get(`${MODEL}/ready`), status(200)),
  http.advice('model-ready-body', get(`${MODEL}/ready`), named(READY)),
  http.required('model-ready-version', get(`${VERSION}/ready`), status(200)),
  http.required('server-metadata', get('/v2'), json(SERVER_METADATA)),
  http.required('model-metadata', get(MODEL), named(MODEL_METADATA.extend({ outputs: TENSORS.min(1) }))),
  http.required('model-metadata-version', get(VERSION), named(MODEL_METADATA)),
  http.advice(
    'content-type',
    (t) => Promise.all([t.http('GET', '/v2'), t.http('GET', MODEL), t.infer()]),
    (answers) => {
      const types = answers.map(({ headers }) => headers['content-type'] ?? '');
      check(
        types.every((type) => /^application\/json\b/i.test(type)),
        `the content types are ${shown(types)}`,
      );
    },
  ),
  http.advice('slash', get('/v2/'), json(SERVER_METADATA)),
  http.required('infer', (t) => t.infer(), isDescribed),
  // Fails for models that use random numbers.
  http.advice('infer-again', (t) => t.infer(), same),
  http.required('infer-id', echoed('42', 'x'.repeat(200))),
  http.required('infer-id-text', echoed('grüße', '"\\ /', 'a\u0001b')),
  http.required('infer-nested', (t) => t.infer({}, jsonInputs(t.inputs()).map(nested)), same),
  http.required(
    'infer-outputs',
    (t) => t.reference(),
    async (all, t) => {
      for (const [name, tensor] of all)
        checkSame(new Map([[name, tensor]]), outputsOfHttp(await t.infer({ outputs: [{ name }] })));
    },
  ),
  http.required('infer-version', inferAt(`${VERSION}/infer`), (answer, { model: { version } }) => {
    outputsOfHttp(answer);
    const { model_version: got } = answer.json();
    check(got === version, `"model_version" is ${shown(got)}`);
  }),
  // Parameters that a server does not know do no harm, or are refused.
  http.advice('infer-parameters', inferWithParameters, (answer, t) =>
    answer.status === 400 ? refused(answer) : same(answer, t),
  ),
  http.advice('infer-batch', inferTwoRows, (answer) => {
    for (const { name, shape } of outputsOfHttp(answer).values())
      check(shape[0] === 2, `output ${shown(name)} has the shape ${shown(shape)}`);
  }),
];

/** A mistake in the inputs of a request. */
const body = (make: (inputs: JsonInput[]) => unknown): Ask => {
  return (t) => t.postInfer(make(jsonInputs(t.inputs())));
};
/** One in the first input. */
const first = (change: (input: JsonInput) => object): Ask =>
  body(([input, ...others]) => ({ inputs: [{ ...input, ...change(input!) }, ...others] }));

/**
 * What a client should not ask, by the names of cases. The specification does not spell out those that are advice: a server
 * may mean to accept them.
 */
const MISTAKES: Readonly<Record<'required' | 'advice', Readonly<Record<string, Ask>>>> = {
  required: {
    'bad-json': body(() => '{"inputs": [}'),
    'empty-body': body(() => ''),
    'not-an-object': body(() => '[]'),
    'no-inputs': body(() => ({ id: '1' })),
    'inputs-no-list': body(() => ({ inputs: 'x' })),
    'missing-input': body((all) => ({ inputs: all.slice(1) })),
    'unknown-datatype': first(() => ({ datatype: 'FLOAT' })),
    'no-datatype': first(() => ({ datatype: undefined })),
    'no-shape': first(() => ({ shape: undefined })),
    'no-data': first(() => ({ data: undefined })),
    'null-data': first(() => ({ data: null })),
    'short-data': first(({ data }) => ({ data: data.slice(1) })),
    'long-data': first(({ data }) => ({ data: [...data, ...data] })),
    'negative-shape': first(({ shape }) => ({ shape: [-1, ...shape.slice(1)] })),
    'fraction-shape': first(({ shape }) => ({ shape: [1.5, ...shape.slice(1)] })),
    // Sizes whose product passes 64 bits.
    'overflow-shape': first(({ shape }) => ({
      shape: shape.length > 0 ? shape.map(() => 2 ** 32) : skip("the model's first input has no dimensions"),
    })),
    'object-element': first(({ data }) => ({ data: [{}, ...data.slice(1)] })),
    'unknown-model': post(`/v2/models/${MISSING}/infer`, { inputs: [] }),
    'unknown-model-metadata': get(`/v2/models/${MISSING}`),
    'unknown-version': inferAt(`${MODEL}/versions/${NO_VERSION}/infer`),
    'unknown-version-metadata': get(`${MODEL}/versions/${NO_VERSION}`),
  },
  advice: {
    'unknown-input': first(() => ({ name: MISSING })),
    'duplicate-input': body((all) => ({ inputs: [...all, all[0]] })),
    rank: first(({ shape }) => ({ shape: [1, 1, ...shape] })),
    'unknown-output': (t) => t.infer({ outputs: [{ name: MISSING }] }),
    'wrong-datatype': first(({ datatype, data }) => ({
      datatype: datatype === 'INT64' ? 'FP64' : 'INT64',
      data: data.map(() => 1),
    })),
    // Another size of a dimension that the metadata fixes.
    'fixed-size': (t) => t.infer({}, larger(t)),
  },
};

const errors = rows('errors');

export const ERRORS: readonly Case[] = [
  ...Object.entries(MISTAKES.required).map(([name, ask]) => errors.required(name, ask, refused)),
  ...Object.entries(MISTAKES.advice).map(([name, ask]) => errors.advice(name, ask, refused)),
  errors.required('unknown-model-ready', get(`/v2/models/${MISSING}/ready`), ({ status: got }) =>
    check(got >= 400, `the status is ${got}`),
  ),
  // A client's mistake has a status that does not blame the server: RFC 9110, 15.5.
  errors.advice('status', async (t) => {
    const blaming: string[] = [];
    for (const [name, ask] of Object.entries({ ...MISTAKES.required, ...MISTAKES.advice })) {
      try {
        const { status: got } = await ask(t);
        if (got >= 500) blaming.push(`${name}: ${got}`);
      } catch (error) {
        if (!(error instanceof Ending) || error.result !== 'skipped') throw error;
      }
    }
    check(blaming.length === 0, blaming.join(', '));
  }),
  errors.advice('unknown-path', get('/v2/conform/no-such-path'), status(404)),
  // RFC 9110, 15.5.6.
  errors.advice('method', get(INFER), ({ status: got, headers }) =>
    check(got === 404 || (got === 405 && 'allow' in headers), `the status is ${got}, Allow ${headers.allow}`),
  ),
];

function inferAt(path: string): Ask {
  return (t) => t.postInfer({ inputs: jsonInputs(t.inputs()) }, {}, path);
}

function inferWithParameters(t: Trial) {
  const parameters = { 'conform-note': 'a text', 'conform-flag': true, 'conform-count': 3 };
  const inputs = jsonInputs(t.inputs()).map((input) => ({ ...input, parameters }));
  return t.infer({ parameters }, inputs);
}

function inferTwoRows(t: Trial) {
  const all = [...t.model.inputs, ...t.model.outputs];
  if (!all.every(({ shape }) => shape[0] === -1)) skip('the first dimension is not -1');
  return t.infer({}, jsonInputs(t.inputs(0, 2)));
}

/** The answer names the model, and has every output of the metadata with its datatype and shape. */
function isDescribed(answer: HttpAnswer, { model }: Trial): void {
  const outputs = outputsOfHttp(answer);
  check(answer.json().model_name === model.name, `"model_name" is ${shown(answer.json().model_name)}`);
  for (const { name, datatype, shape } of model.outputs) {
    const got = outputs.get(name);
    const fits = got?.shape.length === shape.length && shape.every((n, i) => n < 0 || n === got.shape[i]);
    check(fits && got.datatype === datatype, `output ${name} is ${got?.datatype} ${shown(got?.shape)}`);
  }
}

/** Each id comes back. */
function echoed(...ids: readonly string[]): Ask<void> {
  return async (t) => {
    for (const id of ids) {
      const got = (await t.infer({ id })).json().id;
      check(got === id, `${shown(id)} came back as ${shown(got)}`);
    }
  };
}

/** An input with its data in lists of lists, as deep as its shape. */
function nested({ data, ...input }: JsonInput): object {
  const split = (
    elements: readonly unknown[],
    [size = 1, ...rest]: readonly number[],
  ): readonly unknown[] => {
    const each = countOf(rest);
    const part = (i: number) => split(elements.slice(i * each, (i + 1) * each), rest);
    return rest.length === 0 ? elements : Array.from({ length: size }, (_, i) => part(i));
  };
  return { ...input, data: split(data, input.shape) };
}

function larger({ model: { inputs } }: Trial): object[] {
  if (!inputs.some(({ shape }) => shape.some((size) => size > 0)))
    skip("the model's metadata fixes no dimension");
  return inputs.map(({ name, datatype, shape: described }) => {
    const shape = described.map((size) => (size > 0 ? size + 1 : Math.abs(size)));
    const element = datatype === 'BOOL' ? true : datatype === 'BYTES' ? 'x' : 0;
    return { name, datatype, shape, data: Array(countOf(shape)).fill(element) };
  });
}
