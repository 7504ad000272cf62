import { status as codes } from '@grpc/grpc-js';
import { absent, type Case, check, rows, shown, skip } from '../case.js';
import { agrees, call, endsWith, get, ok, refusedGrpc, sameGrpc } from '../columns.js';
import { type GrpcAnswer, GrpcClient, methodOf } from '../grpc.js';
import type { Loose } from '../http.js';
import {
  BATCHED_TOLERANCE,
  checkSame,
  differenceOf,
  type Outputs,
  outputsOfGrpc,
  type Tensor,
} from '../tensors.js';
import { MISSING, MODEL, NO_VERSION, type Trial } from '../trial.js';

const grpc = rows('grpc');
const isReady = ok(({ ready }) => ready);

/** Health, metadata and inference over gRPC. */
export const GRPC: readonly Case[] = [
  grpc.required(
    'live',
    call('ServerLive'),
    ok(({ live }) => live),
  ),
  grpc.required('ready', call('ServerReady'), isReady),
  grpc.required('model-ready', call('ModelReady', nameOf), async (answer, t) => {
    await isReady(answer, t);
    const { name, version } = t.model;
    if (version !== null) await isReady(await t.call('ModelReady', { name, version }), t);
  }),
  grpc.required('unknown-model-ready', call('ModelReady', { name: MISSING }), ({ message }) =>
    check(message?.ready !== true, 'ready is true'),
  ),
  grpc.required('server-metadata', call('ServerMetadata'), agrees(get('/v2'), serverOf)),
  grpc.required('model-metadata', call('ModelMetadata', nameOf), agrees(get(MODEL), modelOf)),
  grpc.required('unknown-model-metadata', call('ModelMetadata', { name: MISSING }), refusedGrpc),
  // Of grpc.health.v1.
  grpc.optional('health', call('Check'), (answer, t) => {
    if (answer.code === codes.UNIMPLEMENTED) absent('the service is not there');
    return ok(({ status }) => status === 1)(answer, t);
  }),
  grpc.required('infer-raw', (t) => t.inferGrpc(t.rawRequest()), sameGrpc),
  grpc.required('infer-typed', (t) => t.inferGrpc(t.typedRequest()), sameGrpc),
  grpc.required('infer-id', inferAs('42'), isEchoed('42')),
  grpc.required('infer-id-text', inferAs('grüße 42'), isEchoed('grüße 42')),
  grpc.required(
    'infer-outputs',
    (t) => t.reference(),
    async (all, t) => {
      for (const [name, tensor] of all)
        checkSame(
          new Map([[name, tensor]]),
          outputsOfGrpc(await t.inferGrpc(t.rawRequest({ outputs: [{ name }] }))),
        );
    },
  ),
  grpc.advice('infer-parameters', inferWithParameters, (answer, t) =>
    answer.code === codes.INVALID_ARGUMENT ? undefined : sameGrpc(answer, t),
  ),
  mistake('unknown-model', (t) => t.rawRequest({ model_name: MISSING })),
  mistake('unknown-version', (t) => t.rawRequest({ model_version: NO_VERSION })),
  mistake('missing-input', ({ model }) => ({ model_name: model.name })),
  mistake('unknown-output', (t) => t.rawRequest({ outputs: [{ name: MISSING }] }), 'advice'),
  mistake('raw-size', (t) => t.rawRequest({ raw_input_contents: raw(t).map((bytes) => bytes.subarray(1)) })),
  mistake('raw-count', (t) => t.rawRequest({ raw_input_contents: [...raw(t), raw(t)[0]] })),
  // "Must not be specified" next to lists of values.
  mistake('both-contents', (t) => t.typedRequest({ raw_input_contents: raw(t) })),
  mistake('wrong-list', withWrongLists),
  // Sizes whose product passes 64 bits.
  mistake('huge-shape', (t) => t.rawRequest({}, resized(t, 2 ** 40))),
  mistake('negative-shape', (t) => t.rawRequest({}, resized(t, -1))),
  grpc.advice('unknown-field', inferWithUnknownField, sameGrpc),
  // Bytes that are no message are refused, and the server goes on.
  grpc.required('malformed', async (t) => {
    for (const bytes of [Buffer.alloc(64, 0xff), Buffer.from([0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f])])
      refusedGrpc(await t.grpc.callRaw(methodOf('ModelInfer'), bytes));
    await isReady(await t.call('ServerReady', {}), t);
  }),
  grpc.advice(
    'unknown-method',
    ({ grpc: client }) => client.callRaw({ ...methodOf('ServerLive'), path: NO_METHOD }, Buffer.alloc(0)),
    endsWith(codes.UNIMPLEMENTED),
  ),
  grpc.advice('codes', async (t) => {
    endsWith(codes.NOT_FOUND, codes.INVALID_ARGUMENT)(await t.call('ModelInfer', { model_name: MISSING }));
    endsWith(codes.INVALID_ARGUMENT)(await t.call('ModelInfer', { model_name: t.model.name }));
  }),
  grpc.optional('gzip', inferCompressed, (answer, t) => {
    if (answer.code === codes.UNIMPLEMENTED) absent('gzip is not supported');
    return sameGrpc(answer, t);
  }),
  grpc.optional('stream', stream(), answersOwn),
  grpc.optional('stream-order', stream(), (answers) => {
    const got = answers.map(({ infer_response: response }) => response?.id);
    check(shown(got) === shown(IDS), `the answers are ${shown(got)}`);
  }),
  // One answer is an error, and those to the requests after it are as usual.
  grpc.optional('stream-error', stream({ model_name: MISSING, id: 'wrong' }), (answers) => {
    const errors = answers.filter(({ error_message: error }) => error !== '').length;
    check(
      errors === 1 && answers.length === IDS.length + 1,
      `${answers.length} answers, ${errors} are errors`,
    );
  }),
];

const NO_METHOD = '/inference.GRPCInferenceService/ConformNoSuchMethod';

function mistake(name: string, make: (t: Trial) => object, level: 'required' | 'advice' = 'required'): Case {
  return grpc[level](`error-${name}`, call('ModelInfer', make), refusedGrpc);
}

function serverOf({ name, version, extensions }: Loose): unknown {
  return [name, version, extensions.toSorted()];
}

function modelOf({ name, platform, inputs, outputs }: Loose): unknown {
  const [takes, answers] = [inputs, outputs].map((tensors) =>
    tensors.map(({ name: tensor, datatype, shape }: Loose) => [tensor, datatype, shape.map(Number)]),
  );
  return [name, platform, takes, answers];
}

function nameOf({ model: { name } }: Trial): object {
  return { name };
}

function raw(t: Trial): Buffer[] {
  return t.inputs().map(({ bytes }) => bytes);
}

/** The model's inputs, each dimension of this size. */
function resized(t: Trial, size: number): Tensor[] {
  const tensors = t.inputs();
  if (tensors.every(({ shape }) => shape.length === 0)) skip('no input of the model has dimensions');
  return tensors.map((tensor) => ({ ...tensor, shape: tensor.shape.map(() => size) }));
}

/** Values in the list of another type. */
function withWrongLists(t: Trial): object {
  const inputs = t.inputs().map(({ name, datatype, shape }) => {
    const contents = datatype === 'BOOL' ? { fp64_contents: [1] } : { bool_contents: [true] };
    return { name, datatype, shape, contents };
  });
  return { model_name: t.model.name, inputs };
}

function inferAs(id: string) {
  return (t: Trial) => t.inferGrpc(t.rawRequest({ id, model_version: t.model.version ?? '' }));
}

/** Id, model name and version come back. */
function isEchoed(wanted: string) {
  return ({ message, text }: GrpcAnswer, { model: { name, version } }: Trial) => {
    check(message !== null, `it ends with ${text}`);
    const { id, model_name: model, model_version: of } = message;
    const holds = id === wanted && model === name && (version === null || of === version);
    check(holds, `id, model name and version are ${shown([id, model, of])}`);
  };
}

function inferWithParameters(t: Trial): Promise<GrpcAnswer> {
  const parameters = { 'conform-note': { string_param: 'a text' }, 'conform-flag': { bool_param: true } };
  return t.inferGrpc(t.rawRequest({ parameters }));
}

function inferWithUnknownField(t: Trial): Promise<GrpcAnswer> {
  const method = methodOf('ModelInfer');
  // Field 1000, one byte long.
  const unknown = Buffer.from([0xc2, 0x3e, 0x01, 0x00]);
  return t.grpc.callRaw(method, Buffer.concat([method.requestSerialize(t.rawRequest()), unknown]));
}

function inferCompressed(t: Trial): Promise<GrpcAnswer> {
  const client = new GrpcClient(t.endpoint, { 'grpc.default_compression_algorithm': 2 });
  return t.inferGrpc(t.rawRequest(), client).finally(() => client.close());
}

const IDS = ['0', '1', '2', '3', '4', '5'];

/** Sends a request for each id, with inputs of its own. `wrong` goes in their midst. */
function stream(wrong?: object) {
  return async (t: Trial): Promise<Loose[]> => {
    const requests = IDS.map((id) => t.rawRequest({ id }, t.inputs(Number(id))));
    if (wrong !== undefined) requests.splice(IDS.length / 2, 0, wrong);
    const answer = await t.grpc.stream('ModelStreamInfer', requests);
    if (answer.code === codes.UNIMPLEMENTED) absent('the method is not there');
    if (answer.text.includes('Response message parsing error')) absent('its answers are of another type');
    endsWith(codes.OK)(answer);
    return answer.message;
  };
}

/** Each request has one answer, of its own inputs. */
async function answersOwn(answers: readonly Loose[], t: Trial): Promise<void> {
  check(answers.length === IDS.length, `${answers.length} answers to ${IDS.length} requests`);
  const references: Outputs[] = [];
  for (const { infer_response: message, error_message: text } of answers) {
    const got = outputsOfGrpc({ code: codes.OK, message: text === '' ? message : null, text });
    references.push(await t.reference(Number(message.id)));
    // The server may batch them.
    checkSame(references.at(-1)!, got, BATCHED_TOLERANCE);
  }
  if (references.every((one) => differenceOf(one, references[0]!, BATCHED_TOLERANCE) === null))
    skip(
      'the model answers all inputs alike, within what batches may change: whose an answer is cannot be seen',
    );
}
