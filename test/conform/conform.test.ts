import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CPU } from '../live/models/fixtures.js';
import { encodeGraph, node } from '../live/models/small-graph.js';
import { fileModels, serve, simulated, smallModels } from '../serve/fixtures.js';
import { CASES, examine, isChosen, type Options } from './examine.js';
import type { Endpoint, Loose } from './http.js';
import { ALL, endpointAt, PATIENT_MS } from './options.js';
import { type Defect, edit, type Message, tamperGrpc, tamperHttp } from './tampering.js';

/** Two inputs, and twice of each. */
const TWICE = encodeGraph({
  inputs: [
    { name: 'x', dims: ['batch', 4] },
    { name: 'n', dims: ['batch', 2], type: 'INT64' },
  ],
  outputs: [
    { name: 'double', dims: ['batch', 4] },
    { name: 'even', dims: ['batch', 2], type: 'INT64' },
  ],
  nodes: [node('Add', ['x', 'x'], 'double'), node('Add', ['n', 'n'], 'even')],
});
const SENDERS = { priorities: [1, 2], tenantHeader: 'x-tenant', limitedTenant: 'small' };

/** Ports of a server of ours that can be asked everything. */
async function openServer() {
  const { server, http } = await serve({ devices: [CPU], models: await fileModels({ twice: TWICE }) }, [
    'slo=10s',
    'classes=[{ name: standard }, { name: gold, weight: 10, priority: [1, 2] }]',
    'tenants.list=[{ name: others }, { name: small, rate: 5/s, burst: 3 }]',
  ]);
  return { http: http.port, grpc: server.grpc?.port ?? 0 };
}

describe('a server of ours', () => {
  it('conforms, and takes all advice', async () => {
    const { http, grpc } = await openServer();
    const { verdicts } = await examine(endpointAt(http, grpc, PATIENT_MS), { ...ALL, ...SENDERS });
    const others = verdicts
      .filter(({ result }) => result !== 'pass')
      .map(({ id, reason }) => `${id}: ${reason}`);
    expect(others).toEqual([
      'binary.raw-request: the model has several inputs, or sizes that do not follow from the bytes',
      'robustness.gzip-answer: the answer is not encoded',
    ]);
    expect(verdicts.length).toBe(166);
  });

  it('is not asked what its model, or what is known of it, cannot decide', async () => {
    const { server, http } = await serve({ devices: simulated(1, 0), models: smallModels(2, 0) }, [
      'slo=10s',
    ]);
    const only = ['binary.raw-request', 'binary.mixed-input', 'grpc.stream', 'classification', 'senders'];
    const { verdicts } = await examine(endpointAt(http.port, server.grpc?.port ?? 0), { ...ALL, only });
    expect(verdicts.flatMap(({ id, reason }) => (reason === '' ? [] : `${id}: ${reason}`))).toEqual([
      'binary.mixed-input: the model has one input only',
      expect.stringContaining('grpc.stream: the model answers all inputs alike'),
      'classification.http: no output of the model is one row of several numbers',
      'classification.negative: no output of the model is one row of several numbers',
      'classification.grpc: no output of the model is one row of several numbers',
      'senders.priority: no --priority NUMBER',
      'senders.grpc-priority: no --priority NUMBER',
      'senders.rate: no --limited-tenant NAME',
    ]);
    const { verdicts: skipped } = await examine(endpointAt(http.port, null), {
      ...ALL,
      only: ['grpc', 'statistics.grpc'],
    });
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(['no --grpc HOST:PORT']));
  });
});

const answers = (change: (json: Loose) => void): Defect => ({ answered: (answer) => edit(answer, change) });
const replaces = (pattern: RegExp, by: string): Defect => ({
  answered: (answer) => {
    answer.body = Buffer.from(answer.body.toString('latin1').replace(pattern, by), 'latin1');
  },
});
/** Answers with the status to requests of which this is so. */
const refuses = (status: number, isMeant: (request: Message) => boolean, error = 'no'): Defect => ({
  answered: (answer, request) => {
    if (!isMeant(request)) return;
    answer.status = status;
    answer.body = Buffer.from(JSON.stringify({ error }));
  },
});
const turns = (isMeant: (status: number) => boolean, status: number): Defect => ({
  answered: (answer) => {
    if (isMeant(answer.status)) answer.status = status;
  },
});
const isError = (status: number) => status >= 400;
/** Describes itself with another value. */
const describes = (key: string, value: unknown) =>
  answers((json) => {
    if (json.extensions !== undefined) json[key] = value;
  });
const allOf = (groups: readonly string[], but: readonly string[]) =>
  CASES.map(({ id }) => id).filter((id) => isChosen(id, groups) && !but.includes(id));

const BINARY_OUTPUTS = ['binary.output', 'binary.all-outputs', 'binary.both-ways'];
const IDS = ['robustness.keep-alive', 'robustness.pipelining', 'robustness.at-once'];

/** What a server does wrong over HTTP, of which groups it is asked, and the cases that fail because of it. */
const HTTP_DEFECTS: Readonly<Record<string, readonly [Defect, string[], readonly string[]]>> = {
  nothing: [{}, ['http', 'errors', 'binary', 'statistics', 'configuration', 'repository'], []],
  'loses ids': [
    answers((json) => delete json.id),
    ['http', ...IDS],
    ['http.infer-id', 'http.infer-id-text', ...IDS],
  ],
  'does not name the model': [answers((json) => delete json.model_name), ['http'], ['http.infer']],
  'is busy all the time': [
    refuses(503, ({ body }) => body.includes('"id":"7"')),
    ['robustness.at-once'],
    ['robustness.at-once'],
  ],
  'takes flat lists only': [
    refuses(400, ({ body }) => body.includes('"data":[[')),
    ['http'],
    ['http.infer-nested'],
  ],
  'gives all outputs': [
    { asked: (request) => edit(request, (json) => delete json.outputs) },
    ['http', 'errors'],
    ['http.infer-outputs', 'errors.unknown-output'],
  ],
  'forgives all mistakes': [turns(isError, 200), ['errors'], allOf(['errors'], ['errors.status'])],
  'blames itself': [
    turns(isError, 500),
    ['errors', 'robustness.proto'],
    ['errors.status', 'errors.unknown-path', 'errors.method', 'robustness.proto'],
  ],
  'says what is wrong in plain text': [
    replaces(/^\{"error".*/s, 'no'),
    ['errors'],
    allOf(
      ['errors'],
      ['errors.unknown-model-ready', 'errors.status', 'errors.unknown-path', 'errors.method'],
    ),
  ],
  'has no binary outputs': [
    {
      asked: (request) =>
        edit(request, (json) => {
          delete json.parameters;
          for (const output of json.outputs ?? []) delete output.parameters;
        }),
    },
    ['binary'],
    BINARY_OUTPUTS,
  ],
  'is big-endian': [
    {
      answered: ({ headers, body }) => {
        const headBytes = headers['inference-header-content-length'];
        if (headBytes !== undefined) body.subarray(Number(headBytes)).swap32();
      },
    },
    ['binary'],
    BINARY_OUTPUTS,
  ],
  'counts nothing': [
    replaces(/"(count|inference_count|execution_count)":\d+/g, '"$1":0'),
    ['statistics'],
    ['statistics.counts'],
  ],
  'has other types of batches': [
    replaces(/"batch_stats":\[/, '"batch_stats":["none",'),
    ['statistics'],
    ['statistics.model'],
  ],
  'has other names of types': [replaces(/TYPE_/g, ''), ['configuration'], ['configuration.model']],
  'has other names of types, and announces nothing': [
    replaces(/TYPE_|(?<="extensions":\[)[^\]]*/g, ''),
    ['configuration'],
    [],
  ],
  'does not unload': [
    {
      asked: (request) => {
        request.path = request.path.replace(/\/unload$/, '/load');
      },
    },
    ['repository'],
    ['repository.unload-load'],
  ],
  'gives classes in another order': [
    answers(({ outputs }) => outputs?.[0]?.datatype === 'BYTES' && outputs[0].data.reverse()),
    ['classification'],
    ['classification.http'],
  ],
  'gives no reason': [
    replaces(/"error":.*/s, '"error":"no"}'),
    ['senders.unknown-priority'],
    ['senders.unknown-priority'],
  ],
  'serves tenants that it knows': [
    refuses(400, ({ headers }) => (headers['x-tenant'] ?? 'small') !== 'small'),
    ['senders'],
    ['senders.unknown-tenant'],
  ],
  'does not say when to come again': [
    { answered: ({ headers }) => delete headers['retry-after'] },
    ['senders.rate'],
    ['senders.rate'],
  ],
  'forbids what comes too often': [
    turns((status) => status === 429, 403),
    ['senders.rate'],
    ['senders.rate'],
  ],
};

const called = (method: string, change: (answer: Loose) => object): Defect => ({
  called: (answer, of) => (of === method ? change(answer) : answer),
});
/** Numbers of streamed answers are off by a part. */
const isOffBy = (part: number): Defect => ({
  streamed: (all) => {
    for (const { infer_response: response } of all) {
      const raw: Buffer | undefined = response?.raw_output_contents[0];
      for (let at = 0; at < (raw?.length ?? 0); at += 4)
        raw?.writeFloatLE(raw.readFloatLE(at) * (1 + part), at);
    }
    return all;
  },
});
const GRPC_MISTAKES = [
  ...['statistics.grpc-unknown-model', 'configuration.grpc-unknown-model', 'repository.grpc-load-unknown'],
  ...['senders.grpc-unknown-priority', 'grpc.unknown-model-metadata', 'grpc.codes'],
  ...CASES.map(({ id }) => id).filter((id) => id.startsWith('grpc.error-')),
];

const GRPC_DEFECTS: typeof HTTP_DEFECTS = {
  nothing: [{}, ['grpc'], []],
  'forgives all mistakes': [
    { called: (answer) => (answer instanceof Error ? {} : answer) },
    GRPC_MISTAKES,
    GRPC_MISTAKES,
  ],
  'has all models': [called('ModelReady', () => ({ ready: true })), ['grpc'], ['grpc.unknown-model-ready']],
  'leaves out an input': [
    called('ModelMetadata', (answer) => (answer instanceof Error ? answer : { ...answer, inputs: [] })),
    ['grpc'],
    ['grpc.model-metadata'],
  ],
  'answers in another order': [{ streamed: (all) => all.reverse() }, ['grpc'], ['grpc.stream-order']],
  'answers with the outputs of others': [
    {
      streamed: (all) =>
        all.map(({ infer_response: response, ...others }, i) => {
          const of = all[(i + 1) % all.length].infer_response;
          return { ...others, infer_response: response && of && { ...of, id: response.id } };
        }),
    },
    ['grpc.stream'],
    ['grpc.stream'],
  ],
  'is off by 2 %': [isOffBy(0.02), ['grpc.stream'], ['grpc.stream']],
  // What batches on GPUs may change.
  'is off by 0.5 %': [isOffBy(0.005), ['grpc.stream'], []],
};

describe('each mistake of a server is found, by the cases that it is of', () => {
  const examineAll = async (defects: typeof HTTP_DEFECTS, tamper: (defect: Defect) => Promise<Endpoint>) => {
    for (const [what, [defect, only, wanted]] of Object.entries(defects)) {
      const { failed, advised } = await examine(await tamper(defect), { ...ALL, ...SENDERS, only });
      expect([...failed, ...advised].sort(), what).toEqual([...wanted].sort());
    }
  };

  it('over HTTP', async () => {
    const { http } = await openServer();
    await examineAll(HTTP_DEFECTS, async (defect) => endpointAt(await tamperHttp(http, defect), null));
  });

  it('over gRPC', async () => {
    const { http, grpc } = await openServer();
    await examineAll(GRPC_DEFECTS, async (defect) => endpointAt(http, await tamperGrpc(grpc, defect)));
  });
});

describe('a server with a mistake', () => {
  const examineTampered = async (defect: Defect, only: readonly string[], more: Partial<Options> = {}) =>
    examine(endpointAt(await tamperHttp((await openServer()).http, defect), null), { ...ALL, only, ...more });

  it('lacks nothing that it does not announce, but what it has is judged', async () => {
    const { verdicts } = await examineTampered(describes('extensions', []), ['configuration', 'statistics']);
    expect(new Set(verdicts.map(({ level }) => level))).toEqual(new Set(['optional']));
  });

  it('is not blamed for limits of its rate', async () => {
    const limits = refuses(429, ({ body }) => body.includes('"id":"7"'), 'over its rate');
    const { verdicts } = await examineTampered(limits, ['robustness.at-once']);
    expect(verdicts.map(({ result }) => result)).toEqual(['skipped']);
  });

  it('shows nothing that could move the cursor of a terminal', async () => {
    const escapes = describes('name', 'small\u001b[2J\u009b2J\u202e');
    expect((await examineTampered(escapes, ['http.live'])).server).toBe('small [2J 2J 1.2.3');
  });

  it.each([
    [describes('extensions', 'none'), 'expected array, received string'],
    [refuses(401, () => true), 'the status is 401, not 200'],
  ])('is no server of the protocol where its description is none', async (defect, why) => {
    await expect(examineTampered(defect, [])).rejects.toThrow(why);
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

  it.each([
    ['errors.fixed-size', { free }],
    ['errors.overflow-shape', { scalar: [[[]], [[1]]] }],
  ])('is not blamed for what it cannot be asked: %s', async (id, models) => {
    const { verdicts } = await examine(await openModels(models as never), { ...ALL, only: [id] });
    expect(verdicts.map(({ result }) => result)).toEqual(['skipped']);
  });

  it('is none that cannot be', async () => {
    await expect(examine(await openModels({ endless } as never), ALL)).rejects.toThrow(
      'its inputs are too large',
    );
  });
});
