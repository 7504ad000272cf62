import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Ask, absent, type Case, check, fail, rows, shown, skip } from '../case.js';
import {
  agrees,
  call,
  get,
  lists,
  named,
  parse,
  post,
  refused,
  refusedGrpc,
  same,
  status,
} from '../columns.js';
import type { HttpAnswer, Loose } from '../http.js';
import {
  checkSame,
  countOf,
  elementsOf,
  outputsOfGrpc,
  outputsOfHttp,
  type Tensor,
  type TensorMetadata,
  textsOf,
} from '../tensors.js';
import { INFER, jsonInputs, MISSING, MODEL, type Trial, VERSION } from '../trial.js';

const binary = rows('binary', 'binary_tensor_data');
const ALL_BINARY = { parameters: { binary_data_output: true } };

/** Tensors as bytes after the JSON. */
export const BINARY: readonly Case[] = [
  binary.required('input', inferBinary(), same),
  binary.required('json-output', inferBinary(), isJson),
  binary.required('mixed-input', inferBinary({ count: 1, leastInputs: 2 }), same),
  binary.required('output', (t) => t.infer({ outputs: outputsWith(t, { binary_data: true }) }), isBinary),
  binary.required('all-outputs', (t) => t.infer(ALL_BINARY), isBinary),
  binary.required(
    'override',
    (t) => t.infer({ ...ALL_BINARY, outputs: outputsWith(t, { binary_data: false }) }),
    isJson,
  ),
  binary.required('both-ways', inferBinary({ more: ALL_BINARY }), isBinary),
  mistake('short', { cut: (all) => all.subarray(0, -1) }),
  mistake('long', { cut: (all) => Buffer.concat([all, Buffer.alloc(1)]) }),
  // Bytes that the shape contradicts.
  mistake('size', { pad: 3 }),
  mistake('negative-size', { count: 1, size: -1 }),
  mistake('huge-size', { count: 1, size: 2 ** 62 }),
  // Beyond the body.
  mistake('header-length', { header: '99999999' }),
  mistake('header-text', { header: 'many' }),
  // Triton: the only input of a model without any JSON.
  binary.optional('raw-request', inferWithoutJson, same),
];

interface Binary {
  readonly more?: object;
  readonly leastInputs?: number;
  /** So many inputs are binary; by default all. */
  readonly count?: number;
  /** What each says instead of its size. */
  readonly size?: number;
  /** Bytes after the elements of each. */
  readonly pad?: number;
  /** What the header says instead of the length of the JSON. */
  readonly header?: string;
  readonly cut?: (body: Buffer) => Buffer;
}

/** A request whose first inputs follow the JSON as bytes. */
function inferBinary({
  more,
  leastInputs = 1,
  count,
  size,
  pad = 0,
  header,
  cut = (all) => all,
}: Binary = {}): Ask {
  return (t) => {
    const tensors = t.inputs();
    if (tensors.length < leastInputs) skip('the model has one input only');
    const raw = tensors.slice(0, count).map(({ bytes }) => Buffer.concat([bytes, Buffer.alloc(pad)]));
    const inputs = jsonInputs(tensors).map(({ data, ...input }, i) => ({
      ...input,
      ...(i < raw.length ? { parameters: { binary_data_size: size ?? raw[i]!.length } } : { data }),
    }));
    const head = Buffer.from(JSON.stringify({ ...more, inputs }));
    return t.postInfer(cut(Buffer.concat([head, ...raw])), binaryHeaders(header ?? String(head.length)));
  };
}

function binaryHeaders(length: string) {
  return { 'content-type': 'application/octet-stream', 'inference-header-content-length': length };
}

function outputsWith({ model: { outputs } }: Trial, parameters: object): object[] {
  return outputs.map(({ name }) => ({ name, parameters }));
}

function inferWithoutJson(t: Trial): Promise<HttpAnswer> {
  const [input, ...others] = t.model.inputs;
  const isOpen = input!.shape.filter((size) => size < 0).length > 1;
  if (others.length > 0 || isOpen)
    skip('the model has several inputs, or sizes that do not follow from the bytes');
  return t.postInfer(t.inputs()[0]!.bytes, binaryHeaders('0'));
}

async function isJson(answer: HttpAnswer, t: Trial): Promise<void> {
  check(answer.binary === null, 'the answer has Inference-Header-Content-Length');
  await same(answer, t);
}

async function isBinary(answer: HttpAnswer, t: Trial): Promise<void> {
  const total = [...outputsOfHttp(answer).values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  check(
    answer.binary?.length === total,
    `${answer.binary?.length ?? 'no'} bytes are binary, all outputs ${total}`,
  );
  const type = answer.headers['content-type'];
  check(/^application\/octet-stream\b/i.test(type ?? ''), `the content type is ${shown(type)}`);
  await same(answer, t);
}

function mistake(name: string, how: Binary): Case {
  const ask: Ask = async (t) => {
    // Servers without the extension refuse everything.
    status(200)(await inferBinary()(t), t);
    return inferBinary(how)(t);
  };
  return binary.required(`error-${name}`, ask, refused);
}

const COUNT = z.int().min(0);
const DURATION = z.object({ count: COUNT, ns: COUNT });
const COMPUTE = { compute_input: DURATION, compute_infer: DURATION, compute_output: DURATION };
const MODEL_STATISTICS = z.object({
  ...{ name: z.string(), last_inference: COUNT, inference_count: COUNT, execution_count: COUNT },
  inference_stats: z.object({ success: DURATION, fail: DURATION, queue: DURATION, ...COMPUTE }),
  batch_stats: z.array(z.object({ batch_size: COUNT, ...COMPUTE })),
});
const ALL_STATISTICS = z.object({ model_stats: z.array(MODEL_STATISTICS) });
const statistics = rows('statistics', 'statistics');

export const STATISTICS: readonly Case[] = [
  statistics.required(
    'model',
    inferAndGetStatistics,
    lists((answer) => namesOf(parse(answer, ALL_STATISTICS).model_stats)),
  ),
  statistics.required(
    'all',
    get('/v2/models/stats'),
    lists((answer) => namesOf(answer.json().model_stats)),
  ),
  statistics.required('version', get(`${VERSION}/stats`), (answer, { model }) => {
    const versions = answer.json().model_stats.map(({ version }: Loose) => version);
    check(shown(versions) === shown([model.version]), `the versions are ${shown(versions)}`);
  }),
  statistics.required('counts', async (t) => {
    const counts = async () => sums((await t.http('GET', `${MODEL}/stats`)).json());
    const before = await counts();
    for (let i = 0; i < 3; i++) await t.infer();
    const added = (await counts()).map((count, i) => count - before[i]!);
    const holds = added[0]! >= 3 && added[1]! >= 3 && added[2]! >= 1;
    check(holds, `3 inferences add ${shown(added)} inferences, successes and executions`);
  }),
  statistics.required('unknown-model', get(`/v2/models/${MISSING}/stats`), refused),
  statistics.required(
    'grpc',
    call('ModelStatistics', nameOf),
    agrees(get(`${MODEL}/stats`), (all) => sums(all).slice(0, 2)),
  ),
  statistics.required('grpc-unknown-model', call('ModelStatistics', { name: MISSING }), refusedGrpc),
];

function nameOf({ model: { name } }: Trial): object {
  return { name };
}

function namesOf(list: Loose[]): unknown[] {
  return list.map((each) => each?.name ?? each);
}

async function inferAndGetStatistics(t: Trial): Promise<HttpAnswer> {
  await t.infer();
  return t.http('GET', `${MODEL}/stats`);
}

/** Inferences, successes and executions over all versions of a model. */
function sums({ model_stats: all }: Loose): number[] {
  const sum = (of: (one: Loose) => unknown) =>
    all.reduce((n: number, one: Loose) => n + Number(of(one) ?? 0), 0);
  return [
    sum((one) => one.inference_count),
    sum((one) => one.inference_stats?.success?.count),
    sum((one) => one.execution_count),
  ];
}

const configuration = rows('configuration', 'model_configuration');

/** How a model is configured, in the terms of Triton's ModelConfig. */
export const CONFIGURATION: readonly Case[] = [
  configuration.required('model', get(`${MODEL}/config`), isConfiguration),
  configuration.required('version', get(`${VERSION}/config`), named(z.object({}))),
  configuration.required('unknown-model', get(`/v2/models/${MISSING}/config`), refused),
  configuration.required(
    'grpc',
    call('ModelConfig', nameOf),
    agrees(get(`${MODEL}/config`), configurationOf),
  ),
  configuration.required('grpc-unknown-model', call('ModelConfig', { name: MISSING }), refusedGrpc),
];

function configurationOf(body: Loose): unknown {
  const { name, max_batch_size: most = 0, input } = body.config ?? body;
  return [name, most, namesOf(input).sort()];
}

function isConfiguration(answer: HttpAnswer, { model }: Trial): void {
  const { name, max_batch_size: most = 0, input, output } = answer.json();
  check(name === model.name, `"name" is ${shown(name)}`);
  check(Number.isInteger(most), `"max_batch_size" is ${shown(most)}`);
  const has = (list: Loose[], wanted: readonly TensorMetadata[]) => {
    for (const { name: tensor, datatype } of wanted) {
      const found = list.find((each) => each.name === tensor);
      const type = datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
      check(
        found?.data_type === type && Array.isArray(found.dims),
        `${tensor} is ${shown(found)}, not ${type}`,
      );
    }
  };
  has(input, model.inputs);
  has(output, model.outputs);
}

const repository = rows('repository', 'model_repository');
const TEXT = z.string();
const ENTRIES = z.array(
  z.object({ name: TEXT, state: TEXT, version: TEXT.optional(), reason: TEXT.optional() }),
);
const LOAD_PAUSE_MS = 250;
const index = (body: unknown) => post('/v2/repository/index', body);

/** Which models there are, and loading and unloading them. */
export const REPOSITORY: readonly Case[] = [
  repository.required(
    'index',
    index({}),
    lists((answer) => namesOf(parse(answer, ENTRIES).filter(isReady))),
  ),
  repository.required(
    'index-ready',
    index({ ready: true }),
    lists((answer) => {
      const entries = parse(answer, ENTRIES);
      check(entries.every(isReady), `it has ${shown(entries)}`);
      return namesOf(entries);
    }),
  ),
  // As clients send it.
  repository.advice('index-empty-body', index(''), status(200)),
  repository.required('load-unknown', post(`/v2/repository/models/${MISSING}/load`, {}), refused),
  repository.required('grpc-index', call('RepositoryIndex'), agrees(index({}), entriesOf)),
  repository.required('grpc-load-unknown', call('RepositoryModelLoad', { model_name: MISSING }), refusedGrpc),
  repository.required('unload-load', async (t) => {
    if (!t.known.mayUnload) skip('--unload was not given');
    const before = await t.reference();
    await control(t, 'unload');
    try {
      await untilReady(t, false);
      refused(await t.http('POST', INFER, { body: { inputs: jsonInputs(t.inputs()) } }));
    } finally {
      await control(t, 'load');
    }
    await untilReady(t, true);
    checkSame(before, await t.reference());
  }),
  // KServe and others.
  repository.optional(
    'models',
    get('/v2/models'),
    lists((answer) => {
      if (answer.status === 404 || answer.status === 405) absent(`the status is ${answer.status}`);
      const value = answer.json();
      return namesOf(value.models ?? value);
    }),
  ),
];

function entriesOf(body: Loose): unknown {
  const texts = (body.models ?? body).map(({ name, version = '', state }: Loose) =>
    [name, version, state].join(' '),
  );
  return texts.sort();
}

function isReady({ state }: { readonly state: string }): boolean {
  return state === 'READY';
}

async function control(t: Trial, what: 'load' | 'unload'): Promise<void> {
  status(200)(await t.http('POST', `/v2/repository/models/{name}/${what}`, { body: {} }), t);
}

/** A server may answer a load or unload before it is done. */
async function untilReady(t: Trial, wanted: boolean): Promise<void> {
  const deadline = performance.now() + t.endpoint.timeoutMs;
  for (;;) {
    const { status: got } = await t.http('GET', `${MODEL}/ready`);
    if ((got === 200) === wanted) return;
    check(performance.now() < deadline, `…/ready is still answered ${got} after ${t.endpoint.timeoutMs} ms`);
    await sleep(LOAD_PAUSE_MS);
  }
}

const classification = rows('classification', 'classification');
const CLASSES = 2;

/** The highest values of an output as texts, VALUE:INDEX in descending order. */
export const CLASSIFICATION: readonly Case[] = [
  classification.required('http', inferClasses(CLASSES), ([answer, output]) => {
    check(answer.status === 200, `the status is ${answer.status}: ${shown(answer.text)}`);
    const { datatype, data } = answer.json().outputs[0];
    check(['BYTES', 'STRING'].includes(datatype), `the datatype is ${shown(datatype)}`);
    checkClasses(output, data.flat().map(String));
  }),
  classification.advice('negative', inferClasses(-1), ([answer]) => refused(answer)),
  classification.required('grpc', async (t) => {
    const output = await classesOf(t);
    const outputs = [{ name: output.name, parameters: { classification: { int64_param: CLASSES } } }];
    const got = outputsOfGrpc(await t.inferGrpc(t.rawRequest({ outputs }))).get(output.name);
    check(got?.datatype === 'BYTES', `the datatype is ${shown(got?.datatype)}, not BYTES`);
    checkClasses(output, textsOf(got.bytes).map(String));
  }),
];

function inferClasses(count: number) {
  return async (t: Trial): Promise<readonly [HttpAnswer, Tensor]> => {
    const output = await classesOf(t);
    const outputs = [{ name: output.name, parameters: { classification: count } }];
    return [await t.infer({ outputs }), output];
  };
}

/** An output with several values in one row. */
async function classesOf(t: Trial): Promise<Tensor> {
  const found = [...(await t.reference()).values()].find(({ datatype, shape }) => {
    const values = countOf(shape);
    return datatype !== 'BYTES' && datatype !== 'BOOL' && values >= CLASSES && values === shape.at(-1);
  });
  return found ?? skip('no output of the model is one row of several numbers');
}

function checkClasses(output: Tensor, texts: readonly string[]): void {
  check(texts.length === CLASSES, `${texts.length} classes come back, not ${CLASSES}: ${shown(texts)}`);
  const values = elementsOf(output).map(Number);
  const highest = values.toSorted((a, b) => b - a);
  for (const [i, text] of texts.entries()) {
    const [, value, place] =
      /^(.*):(\d+)$/.exec(text) ?? fail(`class ${i} is ${shown(text)}, not VALUE:INDEX`);
    const there = values[Number(place)]!;
    // Texts have as many digits as the server prints.
    const isClose = Math.abs(Number(value) - there) <= Math.abs(there) * 1e-4 + 1e-5;
    check(there === highest[i] && isClose, `class ${i} is ${shown(text)}; the value there is ${there}`);
  }
}
