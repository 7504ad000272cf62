import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { profileFileName } from '../../src/config/onnx-model.js';
import { parseProfile } from '../../src/config/read-profile.js';
import { OUTCOME_OK } from '../../src/core/request.js';
import type { InputLengths, WorkerModel } from '../../src/live/model.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { readModelFile } from '../../src/live/models/repository.js';
import { openSession } from '../../src/live/ort/open-session.js';
import { openTarget } from '../../src/load/open-target.js';
import { repositoryModels } from '../../src/serve/prepare-model.js';
import { suits } from '../../src/serve/profiles.js';
import { examine } from '../conform/examine.js';
import { ALL, endpointAt, PATIENT_MS } from '../conform/options.js';
import { GrpcClient } from '../live/frontend/grpc-client.js';
import { CPU, tempDir } from '../live/models/fixtures.js';
import { expectReplay, PAGE_BYTES, putMeasured, type Running, remoteLink, serve } from './fixtures.js';

const BUCKETS = [8, 16, 32];
const CLASSES = 4;
const WIDTH = 128;

/** Two models with the same weights: one that is padded, and one that is not, and takes any length. */
const repository = tempDir();
const SETTINGS = `batchSizes: [1, 2, 4]\nslo: 20s\n`;
const PADDING = `buckets: [${BUCKETS}]\nfill: { input_ids: 7, attention_mask: 0 }\n`;
const { onnx } = makeModel('encoder', { input: 64, seed: 5, classes: CLASSES });
let direct: InferenceSession;
let models: readonly WorkerModel[];

beforeAll(async () => {
  await putMeasured(repository, 'padded', onnx, SETTINGS + PADDING);
  await putMeasured(repository, 'unpadded', onnx, `${SETTINGS}buckets: [1, 2, 4, 8, 16, 32, 64]\n`);
  direct = await openSession(onnx, CPU, { level: 'all' });
  models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {
    throw new Error('all models have profiles');
  });
});

afterAll(() => direct.release());

const start = (...overrides: string[]) =>
  serve({ devices: [CPU], models, pages: 20 }, ['slo=20s', ...overrides]);

/** Texts of one length. */
type Texts = readonly (readonly number[])[];

function textsOf(number: number, count: number, length: number): Texts {
  const random = stream(number, 'texts');
  return Array.from({ length: count }, () => Array.from({ length }, () => Math.floor(random() * 30_000)));
}

function requestOf(texts: Texts) {
  const shape = [texts.length, texts[0].length];
  const mask = texts.flat().map(() => 1);
  return {
    inputs: [
      { name: 'input_ids', datatype: 'INT64', shape, data: texts.flat() },
      { name: 'attention_mask', datatype: 'INT64', shape, data: mask },
    ],
  };
}

async function directAnswers(texts: Texts) {
  const dims = [1, texts[0].length];
  return Promise.all(
    texts.map(async (text) => {
      const { tokens, logits } = await direct.run({
        input_ids: new Tensor('int64', BigInt64Array.from(text.map(BigInt)), dims),
        attention_mask: new Tensor('int64', new BigInt64Array(text.length).fill(1n), dims),
      });
      return { tokens: [...(tokens.data as Float32Array)], logits: [...(logits.data as Float32Array)] };
    }),
  );
}

interface Answer {
  readonly parameters: { readonly batch_size: number };
  readonly outputs: readonly { readonly name: string; readonly shape: number[]; readonly data: number[] }[];
}

async function expectAnswer(texts: Texts, { outputs }: Answer) {
  const expected = await directAnswers(texts);
  const [tokens, logits] = outputs;
  expect([tokens.name, tokens.shape]).toEqual(['tokens', [texts.length, texts[0].length, WIDTH]]);
  expect([logits.name, logits.shape]).toEqual(['logits', [texts.length, CLASSES]]);
  expectNear(
    tokens.data,
    expected.flatMap((one) => one.tokens),
  );
  expectNear(
    logits.data,
    expected.flatMap((one) => one.logits),
  );
}

function expectNear(found: readonly number[], expected: readonly number[]) {
  expect(found.length).toBe(expected.length);
  const worst = found.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0);
  expect(worst).toBeLessThan(1e-4);
}

/** One call over HTTP. */
async function overHttp({ http }: Running, model: string, texts: Texts): Promise<Answer> {
  const { status, json } = await http.post(`/v2/models/${model}/infer`, requestOf(texts));
  expect([status, json.error]).toEqual([200, undefined]);
  return json as Answer;
}

/** The same over gRPC, with the tensors as bytes. */
async function overGrpc({ server }: Running, model: string, texts: Texts): Promise<Answer> {
  const client = new GrpcClient(server.grpc?.port as number);
  const { inputs } = requestOf(texts);
  const answer = await client.call('ModelInfer', {
    model_name: model,
    inputs: inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_input_contents: inputs.map(({ data }) => Buffer.from(BigInt64Array.from(data.map(BigInt)).buffer)),
  });
  client.close();
  return {
    parameters: { batch_size: Number(answer.parameters.batch_size.int64_param) },
    outputs: answer.outputs.map(({ name, shape }: { name: string; shape: unknown[] }, i: number) => ({
      name,
      shape: shape.map(Number),
      data: [...new Float32Array(Uint8Array.from(answer.raw_output_contents[i] as Buffer).buffer)],
    })),
  };
}

/** Asks for texts of random lengths, many at once, and compares each answer with what the text gives alone. */
async function askAtRandom(
  running: Running,
  model: string,
  lengthOf: (draw: number) => number,
  mostTexts = 3,
) {
  const random = stream(1, 'lengths');
  let requests = 0;
  let largest = 0;
  const calls = Array.from({ length: 30 }, async (_, i) => {
    const texts = textsOf(i, 1 + Math.floor(random() * mostTexts), lengthOf(random()));
    requests += texts.length;
    const answer = await (i % 2 === 0 ? overHttp : overGrpc)(running, model, texts);
    largest = Math.max(largest, answer.parameters.batch_size);
    await expectAnswer(texts, answer);
  });
  await Promise.all(calls);
  return { requests, largest };
}

/** Texts of any length for the model that is padded, of a few or of any lengths for the other. */
async function askBoth(running: Running) {
  const padded = await askAtRandom(running, 'padded', (draw) => 1 + Math.floor(draw * 32));
  const unpadded = await askAtRandom(running, 'unpadded', (draw) => [3, 17, 64][Math.floor(draw * 3)], 1);
  const varied = await askAtRandom(running, 'unpadded', (draw) => 1 + Math.floor(draw * 64), 1);
  await running.server.close();
  await expectReplay(running.journal, padded.requests + unpadded.requests + varied.requests);
  return [padded.largest, unpadded.largest];
}

// Texts that cannot be padded share a batch with others of their length, if the policy batches by length.
it.each([
  ['escapement', 4],
  ['clockwork, latestDelta: 20s', 1],
])(
  '%s answers each text as alone, whatever its length and what it is batched with',
  async (kind, largest) => {
    expect(await askBoth(await start(`policy={kind: ${kind}}`))).toEqual([4, largest]);
  },
);

it('padding: longest pads all, and answers the same', async () => {
  const running = await start('policy={kind: escapement}', 'padding=longest');
  const { requests } = await askAtRandom(running, 'padded', (draw) => 1 + Math.floor(draw * 32));
  await running.server.close();
  await expectReplay(running.journal, requests);
});

it('goes to workers elsewhere, padded there, for requests of several tenants', async () => {
  const link = await remoteLink({ pages: 20, devices: [CPU], models });
  // The server has none of the models when it starts.
  const settings = ['slo=20s', 'tenants={list: [{name: a}, {name: b}]}'];
  const running = await serve({ devices: [], models: [] }, settings, { links: [link] });
  expect(await askBoth(running)).toEqual([4, 4]);
});

it('is measured again when its lengths or their padding change', async () => {
  const model = await readModelFile(join(repository, 'padded', '1', 'model.onnx'));
  const path = join(repository, 'padded', '1', profileFileName(CPU));
  const profile = parseProfile(readFileSync(path, 'utf8'), path);
  const changed = (lengths: InputLengths) => ({ ...model, signature: { ...model.signature, lengths } });
  expect(suits(profile, model)).toBe(true);
  expect(suits(profile, changed({ buckets: BUCKETS, fill: [7, 0] }))).toBe(true);
  expect(suits(profile, changed({ buckets: [8, 16, 32, 64], fill: [7, 0] }))).toBe(false);
  expect(suits(profile, changed({ buckets: [16, 32], fill: [7, 0] }))).toBe(false);
  expect(suits(profile, changed({ buckets: BUCKETS, fill: [7, 1] }))).toBe(false);
  const { lengths: _, ...free } = model.signature;
  expect(suits(profile, { ...model, signature: { ...free, stackable: true }, lengths: BUCKETS })).toBe(false);
});

describe.each(['http', 'grpc'] as const)('a client over %s', (scheme) => {
  const urlOf = ({ server }: Running) => `${scheme}://127.0.0.1:${server[scheme]?.port}`;

  it('sends inputs of the lengths of a workload, and of the longest without one', async () => {
    const running = await start();
    const target = await openTarget(urlOf(running), {
      models: ['padded', 'unpadded'],
      seed: 1,
      keepsAnswers: true,
    });
    onTestFinished(() => target.close());
    const ask = (model: number, length: number) =>
      new Promise<unknown>((resolve) => {
        target.send({ model, sloNs: 20e9, length }, (outcome, reply) => {
          const outputs = outcome === OUTCOME_OK ? (reply?.outputs?.() as { shape: number[] }[]) : null;
          resolve(outputs === null ? reply?.message : Number(outputs[0].shape[1]));
        });
      });
    expect(await Promise.all([5, 20, 32, 0, 5].map((length) => ask(0, length)))).toEqual([5, 20, 32, 32, 5]);
    expect(await Promise.all([5, 8, 17, 0].map((length) => ask(1, length)))).toEqual([5, 8, 17, 1]);
    expect(await ask(0, 33)).toContain('expected a length from 1 to 32, got 33');
  });
});

it('conforms with a model of several lengths', async () => {
  const { server, http } = await start();
  const endpoint = endpointAt(http.port, server.grpc?.port ?? 0, PATIENT_MS);
  const { verdicts } = await examine(endpoint, { ...ALL, model: 'padded' });
  const failures = verdicts.filter(({ result }) => result === 'fail');
  expect(failures.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
  expect(verdicts.filter(({ result }) => result === 'pass').length).toBeGreaterThan(130);
});

it('refuses at the door, in one line, what has another length', async () => {
  const running = await start();
  const ask = async (model: string, ids: number[], mask: number[]) => {
    const [first, second] = [ids, mask].map((data) => ({ datatype: 'INT64', shape: [1, data.length], data }));
    const inputs = [
      { name: 'input_ids', ...first },
      { name: 'attention_mask', ...second },
    ];
    const { status, json } = await running.http.post(`/v2/models/${model}/infer`, { inputs });
    return [status, json.error];
  };
  const ones = (length: number) => Array.from({ length }, () => 1);
  expect(await ask('padded', ones(33), ones(33))).toEqual([
    400,
    'input "input_ids": expected a length from 1 to 32, got 33',
  ]);
  expect(await ask('padded', [], [])).toEqual([
    400,
    'input "input_ids": expected a length from 1 to 32, got 0',
  ]);
  expect(await ask('padded', ones(8), ones(7))).toEqual([
    400,
    'input "attention_mask": expected a length of 8 like the inputs before it, got 7',
  ]);
  // What the model itself cannot compute fails alone.
  const [bad, good] = await Promise.all([
    ask('padded', [99_999, 1], ones(2)),
    overHttp(running, 'padded', textsOf(1, 3, 20)),
  ]);
  expect(bad[0]).toBe(400);
  await expectAnswer(textsOf(1, 3, 20), good);
});
