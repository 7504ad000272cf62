import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve, simulated, smallModels } from '../serve/fixtures.js';
import { examine, type Options } from './examine.js';
import { openSmallGrpcServer } from './fakes/grpc.js';
import { openSmallServer } from './fakes/http.js';
import type { Endpoint } from './http.js';
import { ALL, endpointAt, PATIENT_MS } from './options.js';

const SENDERS = { priorities: [1, 2], tenantHeader: 'x-tenant', limitedTenant: 'small' };
const EVERY_SENDER = { ...ALL, ...SENDERS, only: ['senders'] };

const examineSmall = async (defect = '', only: readonly string[] = [], more: Partial<Options> = {}) =>
  examine(endpointAt(await openSmallServer(defect), null), { ...ALL, only, ...more });

const examineGrpc = async (defect: string, only: readonly string[], http = '') =>
  examine(endpointAt(await openSmallServer(http), await openSmallGrpcServer(defect)), { ...ALL, only });

describe('a server of ours', () => {
  it('conforms, and takes all advice', async () => {
    const { server, http } = await serve({ devices: simulated(1, 0), models: smallModels(2, 0) }, [
      'slo=10s',
    ]);
    const { verdicts } = await examine(endpointAt(http.port, server.grpc?.port ?? 0, PATIENT_MS), ALL);
    const others = verdicts
      .filter(({ result }) => result !== 'pass')
      .map(({ id, reason }) => `${id}: ${reason}`);
    // What it cannot be asked: its model has one input and one number as output, and it has no classes or tenants.
    expect(others).toEqual([
      'binary.mixed-input: the model has one input only',
      expect.stringContaining('grpc.stream: the model answers all inputs alike'),
      'classification.http: no output of the model is one row of several numbers',
      'classification.negative: no output of the model is one row of several numbers',
      'classification.grpc: no output of the model is one row of several numbers',
      'senders.priority: no --priority NUMBER',
      'senders.grpc-priority: no --priority NUMBER',
      'senders.rate: no --limited-tenant NAME',
      'robustness.gzip-answer: the answer is not encoded',
    ]);
    expect(verdicts.length).toBe(166);
  });

  it('conforms with classes and tenants, each of which is asked for', async () => {
    const { server, http } = await serve({ devices: simulated(1, 0), models: smallModels(2, 0) }, [
      'slo=10s',
      'classes=[{ name: standard }, { name: gold, weight: 10, priority: [1, 2] }]',
      'tenants.list=[{ name: others }, { name: small, rate: 5/s, burst: 3 }]',
    ]);
    const { verdicts } = await examine(
      endpointAt(http.port, server.grpc?.port ?? 0, PATIENT_MS),
      EVERY_SENDER,
    );
    expect(verdicts.filter(({ result }) => result !== 'pass')).toEqual([]);
  });
});

/** What is wrong with a server, and the cases that fail because of it. */
const DEFECTS: readonly (readonly [defect: string, only: string, failed: readonly string[]])[] = [
  ['', 'http', []],
  ['no-id', 'http', ['http.infer-id', 'http.infer-id-text']],
  ['wrong-id', 'http', ['http.infer-id', 'http.infer-id-text']],
  ['wrong-id', 'robustness.at-once', ['robustness.at-once']],
  ['busy', 'robustness.at-once', ['robustness.at-once']],
  ['no-name', 'http', ['http.infer']],
  ['flat-only', 'http', ['http.infer-nested']],
  ['all-outputs', 'http', ['http.infer-outputs']],
  ['', 'errors', []],
  ['any-datatype', 'errors', ['errors.unknown-datatype', 'errors.no-datatype', 'errors.wrong-datatype']],
  ['any-length', 'errors', ['errors.short-data', 'errors.long-data']],
  ['any-model', 'errors', ['errors.unknown-model-metadata', 'errors.unknown-model-ready']],
  ['any-version', 'errors', ['errors.unknown-version', 'errors.unknown-version-metadata']],
  ['any-shape', 'errors', ['errors.fixed-size']],
  ['all-outputs', 'errors', ['errors.unknown-output']],
  ['blames-itself', 'errors', ['errors.status']],
  ['', 'binary', []],
  ['never-binary', 'binary', ['binary.output', 'binary.all-outputs', 'binary.both-ways']],
  ['big-endian', 'binary', ['binary.output', 'binary.all-outputs', 'binary.both-ways']],
  ['spare-bytes', 'binary', ['binary.error-long']],
  ['', 'statistics', []],
  ['counts-nothing', 'statistics', ['statistics.counts']],
  ['batch-text', 'statistics', ['statistics.model']],
  ['announces-nothing counts-nothing', 'statistics', ['statistics.counts']],
  ['', 'configuration', []],
  ['config-types', 'configuration', ['configuration.model']],
  ['announces-nothing config-types', 'configuration', []],
  ['', 'repository', []],
  ['loads-anything', 'repository', ['repository.load-unknown']],
  ['unload-does-nothing', 'repository', ['repository.unload-load']],
  ['', 'classification', []],
  ['lowest-classes', 'classification', ['classification.http']],
  ['blames-itself', 'robustness.proto', ['robustness.proto']],
  ['any-model', 'robustness.traversal', ['robustness.traversal']],
  ['no-id', 'robustness.pipelining', ['robustness.pipelining']],
  ['no-id', 'robustness.keep-alive', ['robustness.keep-alive']],
];

const GRPC_DEFECTS: typeof DEFECTS = [
  ['', 'grpc', []],
  ['ready', 'grpc', ['grpc.unknown-model-ready']],
  ['metadata', 'grpc', ['grpc.model-metadata']],
  ['raw-count', 'grpc', ['grpc.error-raw-count']],
  ['both', 'grpc', ['grpc.error-both-contents']],
  ['raw-size', 'grpc', ['grpc.error-raw-size']],
  ['order', 'grpc', ['grpc.stream-order']],
  ['inputs-of-another', 'grpc', ['grpc.stream']],
  ['off-by 0.02', 'grpc.stream', ['grpc.stream']],
  // What batches on GPUs may change.
  ['off-by 0.005', 'grpc.stream', []],
  ['priority', 'senders.grpc-unknown-priority', ['senders.grpc-unknown-priority']],
];

describe('a small server', () => {
  it.each(DEFECTS)('with the defect "%s" fails of %s exactly %j', async (defect, only, wanted) => {
    const { failed, advised } = await examineSmall(defect, [only]);
    expect([...failed, ...advised].sort()).toEqual([...wanted].sort());
  });

  it.each(GRPC_DEFECTS)('with the gRPC defect "%s" fails of %s exactly %j', async (defect, only, wanted) => {
    const { failed, advised } = await examineGrpc(defect, [only]);
    expect([...failed, ...advised]).toEqual(wanted);
  });

  it.each([
    ['any-priority', ['senders.unknown-priority']],
    ['no-reason', ['senders.unknown-priority']],
    ['wants-tenant', ['senders.unknown-tenant']],
    ['no-retry', ['senders.rate']],
    ['forbids', ['senders.rate']],
    ['', []],
  ])('with the defect "%s" knows senders but for %j', async (defect, wanted) => {
    expect((await examineSmall(defect, ['senders'], SENDERS)).advised).toEqual(wanted);
  });

  it('that answers in plain text breaks every rule of errors, which are required', async () => {
    const { failed } = await examineSmall('plain-errors', ['errors']);
    expect(failed).toEqual(expect.arrayContaining(['errors.bad-json', 'errors.unknown-model']));
  });

  it('without an extension that it does not announce lacks nothing', async () => {
    const { verdicts } = await examineSmall('announces-nothing config-types', ['configuration']);
    expect(new Set(verdicts.map(({ result }) => result))).toEqual(new Set(['absent']));
    const { failed, advised } = await examineSmall('announces-nothing counts-nothing', ['statistics']);
    expect([failed, advised]).toEqual([[], ['statistics.counts']]);
  });

  it.each([
    ['limits', 'robustness.at-once'],
    ['any-shape free-sizes', 'errors.fixed-size'],
    ['scalars', 'errors.overflow-shape'],
  ])('is not blamed for what cannot be decided: %s skips %s', async (defect, id) => {
    const { verdicts } = await examineSmall(defect, [id]);
    expect(verdicts.map(({ result }) => result)).toEqual(['skipped']);
  });

  it('whose model answers all inputs alike cannot be examined with streams', async () => {
    const { verdicts } = await examineGrpc('constant', ['grpc.stream'], 'constant');
    expect(verdicts).toMatchObject([{ result: 'skipped', reason: /answers all inputs alike/ }]);
  });

  it('without an address for gRPC skips its cases', async () => {
    const { verdicts } = await examineSmall('', ['grpc', 'statistics.grpc']);
    expect(new Set(verdicts.map(({ reason }) => reason))).toEqual(new Set(['no --grpc HOST:PORT']));
  });

  it('shows nothing that could move the cursor of a terminal', async () => {
    const { server } = await examineSmall('escapes', ['http.live']);
    expect(server).toBe('small [2J 2J 1');
  });

  it.each([
    ['no-list', 'Invalid input: expected array, received string'],
    ['wants-token', 'the status is 401, not 200'],
  ])('with the defect "%s" is no server of the protocol', async (defect, why) => {
    await expect(examineSmall(defect)).rejects.toThrow(why);
  });
});

type Shape = readonly number[];

/** A server with models that answer anything alike, each with these shapes of inputs and outputs. */
async function openModels(models: Readonly<Record<string, readonly [Shape[], Shape[]]>>): Promise<Endpoint> {
  const tensors = (shapes: readonly Shape[]) =>
    shapes.map((shape, i) => ({ name: `t${i}`, datatype: 'FP32', shape }));
  const answerTo = (url: string): object => {
    const [, , what, name = '', verb] = url.split('/');
    if (what === undefined) return { name: 'a', version: '1', extensions: [] };
    if (what === 'health') return {};
    if (what === 'repository') return Object.keys(models).map((each) => ({ name: each, state: 'READY' }));
    const [inputs, outputs] = models[name]!.map(tensors);
    if (verb === undefined) return { name, platform: 'x', inputs, outputs };
    return { model_name: name, outputs: [{ name: 't0', datatype: 'FP32', shape: [1], data: [1] }] };
  };
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const url = request.url!;
    // Busy at first.
    const isBusy = url.endsWith('/infer') && !asked.has(url);
    asked.add(url);
    request
      .resume()
      .on('end', () => response.writeHead(isBusy ? 503 : 200).end(JSON.stringify(answerTo(url))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return endpointAt((server.address() as AddressInfo).port, null);
}

describe('the model that is asked', () => {
  const free = [[[-1]], [[1]]] as const;
  const one = [[[-1, 4]], [[-1, 8]]] as const;
  const two = [
    [
      [-1, 16],
      [-1, 2],
    ],
    [[-1, 8]],
  ] as const;
  const large = [
    [
      [-1, 3, 64, 64],
      [-1, 2],
    ],
    [[-1, 8]],
  ] as const;
  const endless = [[[1e9, 1e9]], [[1]]] as const;

  it.each([
    ['that most cases can be asked with', { free, one, two }, undefined, 'two'],
    ['the smallest of those', { one, smaller: [[[-1, 3]], [[-1, 8]]] }, undefined, 'smaller'],
    ['no large one if there is a small one', { large, free }, undefined, 'free'],
    ['the one that is named', { free, two }, 'free', 'free'],
  ])('is %s', async (_, models, model, wanted) => {
    const endpoint = await openModels(models as never);
    expect((await examine(endpoint, { ...ALL, model, only: ['http.live'] })).model).toBe(wanted);
  });

  it('is none that cannot be', async () => {
    await expect(examine(await openModels({ endless } as never), ALL)).rejects.toThrow(
      'its inputs are too large',
    );
  });
});
