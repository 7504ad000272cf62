import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OUTCOME_OK } from '../../src/core/request.js';
import { PROTOCOL_FILE } from '../../src/live/frontend/grpc/protocol.js';
import { textsOf } from '../../src/live/texts.js';
import { describeServer, listModels } from '../../src/load/open-target.js';
import { readPayloads } from '../../src/load/payloads.js';
import type { TargetOptions } from '../../src/load/target.js';
import { runCli, tempDir, writeIn } from '../cli/run-cli.js';
import { open as openTo, send } from './fixtures.js';

/*
 * Servers that describe less of their models than ours. What they answer follows the source of Triton (src/http_server.cc),
 * MLServer (mlserver/rest), KServe's Python server (kserve/protocol/rest) and TorchServe (OpenInferenceProtocolRequestHandler).
 */

/** What is answered to a method and path: a status and a value as JSON. */
type Routes = Readonly<Record<string, readonly [number, unknown]>>;

interface Infer {
  readonly path: string;
  readonly json: { readonly inputs: readonly Record<string, unknown>[] };
  readonly binary: Buffer;
}

const infers = (value: unknown) => [200, value] as const;

/** An HTTP server with these routes; every other is 404, as FastAPI says it. Gives its URL and what it was asked to infer. */
async function serve(routes: Routes): Promise<{ url: string; inferred: Infer[] }> {
  const inferred: Infer[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const path = request.url as string;
    const jsonBytes = Number(request.headers['inference-header-content-length'] ?? body.length);
    if (path.endsWith('/infer'))
      inferred.push({
        path,
        json: JSON.parse(body.toString('utf8', 0, jsonBytes)),
        binary: body.subarray(jsonBytes),
      });
    // MLServer takes no index request without a body.
    const [code, value] =
      path === '/v2/repository/index' && body.length === 0
        ? [422, { detail: 'Field required' }]
        : (routes[`${request.method} ${path}`] ?? [404, { detail: 'Not Found' }]);
    response.writeHead(code).end(value === '' ? '' : JSON.stringify(value));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, inferred };
}

const open = (url: string, options: Partial<TargetOptions> = {}) =>
  openTo({ url }, { models: ['m'], ...options });

const jsonPayload = (inputs: readonly object[]) =>
  readPayloads(writeIn(tempDir(), 'request.json', JSON.stringify({ inputs })), ['m']);

const QUESTION = { name: 'question', shape: [1], datatype: 'BYTES', data: ['why?'] };

const TRITON: Routes = {
  'GET /v2': [
    200,
    { name: 'triton', version: '2.73.0', extensions: ['model_configuration', 'binary_tensor_data'] },
  ],
  'GET /v2/health/ready': [200, ''],
  'GET /v2/models/m': [
    200,
    {
      name: 'm',
      versions: ['1'],
      platform: 'python',
      inputs: [
        { name: 'text', datatype: 'BYTES', shape: [-1, 1] },
        { name: 'ids', datatype: 'INT32', shape: [-1, -1] },
      ],
      outputs: [{ name: 'text', datatype: 'BYTES', shape: [-1, 1] }],
    },
  ],
  'GET /v2/models/m/config': [200, { name: 'm', backend: 'python', max_batch_size: 4, parameters: {} }],
  'POST /v2/repository/index': [200, [{ name: 'm', version: '1', state: 'READY', reason: '' }]],
  'POST /v2/models/m/infer': infers({ model_name: 'm', outputs: [] }),
};

/** A model without model-settings.json for its tensors. */
const MLSERVER: Routes = {
  'GET /v2': [200, { name: 'mlserver', version: '1.7.1', extensions: [] }],
  'GET /v2/health/ready': [200, ''],
  'GET /v2/health/live': [200, ''],
  'GET /v2/models/m': [200, { name: 'm', versions: [], platform: '', inputs: [], outputs: [] }],
  'POST /v2/repository/index': [200, [{ name: 'm', state: 'READY', reason: '' }]],
  'POST /v2/models/m/infer': infers({
    model_name: 'm',
    outputs: [{ name: 'answer', shape: [1, 1], datatype: 'BYTES', data: ['because'] }],
  }),
};

const KSERVE: Routes = {
  'GET /v2': [200, { name: 'kserve', version: '0.15.0', extensions: ['model_repository_extension'] }],
  'GET /v2/health/ready': [200, { ready: true }],
  'GET /v2/models': [200, { models: ['m', 'n'] }],
  'GET /v2/models/m': [200, { name: 'm', platform: '', inputs: [], outputs: [] }],
  'GET /v2/models/m/ready': [200, { name: 'm', ready: true }],
  'POST /v2/models/m/infer': infers({ model_name: 'm', outputs: [] }),
};

const TORCHSERVE: Routes = {
  'GET /v2': [200, { name: 'Torchserve', version: '0.12.0', extenstion: ['kserve', 'kubeflow'] }],
  'GET /v2/health/ready': [200, { ready: true }],
  'GET /v2/models/m': [404, { code: 404, type: 'ResourceNotFoundException', message: 'no resource' }],
  'GET /v2/models/m/ready': [200, { name: 'm', ready: true }],
  'POST /v2/models/m/infer': infers({ model_name: 'm', outputs: [] }),
};

describe('over HTTP', () => {
  it('sends texts as bytes, and ones for sizes that Triton leaves open', async () => {
    const { url, inferred } = await serve(TRITON);
    const target = await open(url);
    expect(await send(target)).toBe(OUTCOME_OK);
    const [{ json, binary }] = inferred;
    const [text, ids] = json.inputs as [{ parameters: { binary_data_size: number } }, object];
    expect([text, ids]).toMatchObject([
      { name: 'text', datatype: 'BYTES', shape: [1, 1] },
      { name: 'ids', datatype: 'INT32', shape: [1, 1], parameters: { binary_data_size: 4 } },
    ]);
    const [words, ...others] = textsOf(binary.subarray(0, text.parameters.binary_data_size));
    expect([words?.split(' ').length, others]).toEqual([8, []]);
  });

  it('sends texts as JSON, and says when that cannot be', async () => {
    const inputs = [{ name: 'text', datatype: 'BYTES', shape: [-1] }];
    const { url, inferred } = await serve({ ...MLSERVER, 'GET /v2/models/m': [200, { name: 'm', inputs }] });
    expect(await send(await open(url))).toBe(OUTCOME_OK);
    const [{ data, ...tensor }] = inferred[0].json.inputs;
    expect(tensor).toEqual({ name: 'text', datatype: 'BYTES', shape: [1] });
    expect(data).toEqual([expect.stringMatching(/^(\w+ ){7}\w+$/)]);
    const image = readPayloads(writeIn(tempDir(), 'cat.jpg', Buffer.from([0xff, 0xd8])), ['m']);
    await expect(open(url, { payloads: image })).rejects.toMatchObject({
      code: 'E_SERVER',
      message: expect.stringContaining('input text is not UTF-8, which JSON cannot represent'),
    });
  });

  it.each([
    ['MLServer, which lists no inputs', MLSERVER],
    ['KServe, which lists no inputs', KSERVE],
    ['TorchServe, which has no metadata', TORCHSERVE],
    ['one that says nothing at all', { ...TORCHSERVE, 'GET /v2/models/m': [501, ''] } as Routes],
    [
      'one whose inputs have no shapes',
      { ...MLSERVER, 'GET /v2/models/m': [200, { inputs: [{ name: 'x' }] }] } as Routes,
    ],
  ])('sends a payload as it is to %s, and asks for one', async (_, routes) => {
    const { url, inferred } = await serve(routes);
    await expect(open(url)).rejects.toMatchObject({
      code: 'E_SERVER',
      message: `${url} does not describe the inputs of model m: give an infer request with them, --payload FILE.json`,
    });
    const input = { ...QUESTION, parameters: { content_type: 'str' } };
    const target = await open(url, { payloads: jsonPayload([input]) });
    expect(await send(target)).toBe(OUTCOME_OK);
    expect(inferred[0].json.inputs).toEqual([input]);
  });

  it('asks for the newest version of a model that has nothing but versions', async () => {
    const versions = ['9', '10', '2'].map((version) => ({ name: 'm', version, state: 'READY' }));
    const { url, inferred } = await serve({
      ...MLSERVER,
      'GET /v2/models/m': [404, { error: 'Model m not found' }],
      'POST /v2/repository/index': [200, [...versions, { name: 'm', version: '11', state: 'UNAVAILABLE' }]],
      'GET /v2/models/m/versions/10': [200, { inputs: [{ name: 'x', datatype: 'INT8', shape: [1] }] }],
      'POST /v2/models/m/versions/10/infer': infers({ outputs: [] }),
    });
    const target = await open(url);
    expect(await send(target)).toBe(OUTCOME_OK);
    expect(inferred.map(({ path }) => path)).toEqual(['/v2/models/m/versions/10/infer']);
  });
});

const SERVICE = loadSync(PROTOCOL_FILE, { keepCase: true, longs: Number, defaults: true })[
  'inference.GRPCInferenceService'
] as ServiceDefinition;

describe('over gRPC', () => {
  /** Only what is given is implemented. */
  async function serveGrpc(handlers: Record<string, handleUnaryCall<unknown, unknown>>): Promise<string> {
    const server = new Server();
    const ready: handleUnaryCall<unknown, unknown> = (_, done) => done(null, { ready: true });
    server.addService(SERVICE, { ServerReady: ready, ...handlers });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    onTestFinished(() => server.forceShutdown());
    return `grpc://127.0.0.1:${port}`;
  }

  it('sends a payload as it is to a server that only infers', async () => {
    const seen: unknown[] = [];
    const url = await serveGrpc({
      ModelReady: (_, done) => done(null, { ready: true }),
      ModelInfer: ({ request }, done) => {
        seen.push(request);
        done(null, {});
      },
    });
    await expect(open(url)).rejects.toMatchObject({ code: 'E_SERVER' });
    expect(await listModels(url, { models: [], seed: 1 })).toBe(null);
    const input = { ...QUESTION, parameters: { content_type: 'str', depth: 2 } };
    expect(await send(await open(url, { payloads: jsonPayload([input]) }))).toBe(OUTCOME_OK);
    expect(seen).toMatchObject([
      {
        model_version: '',
        inputs: [
          {
            name: 'question',
            datatype: 'BYTES',
            shape: [1],
            parameters: { content_type: { string_param: 'str' }, depth: { int64_param: 2 } },
          },
        ],
        raw_input_contents: [Buffer.from('\x04\0\0\0why?')],
      },
    ]);
  });

  it('sends texts, and a version where the server knows the model only by it', async () => {
    const seen: { model_version: string; raw_input_contents: Buffer[] }[] = [];
    const url = await serveGrpc({
      RepositoryIndex: (_, done) => done(null, { models: [{ name: 'm', version: '3', state: 'READY' }] }),
      ModelMetadata: ({ request }, done) => {
        const { version } = request as { version: string };
        if (version === '3') done(null, { inputs: [{ name: 't', datatype: 'BYTES', shape: [2] }] });
        else done({ code: status.NOT_FOUND });
      },
      ModelInfer: ({ request }, done) => {
        seen.push(request as (typeof seen)[0]);
        done(null, {});
      },
    });
    const target = await open(url);
    expect(await send(target)).toBe(OUTCOME_OK);
    expect(seen.map(({ model_version: version }) => version)).toEqual(['3']);
    expect(textsOf(seen[0].raw_input_contents[0])).toHaveLength(2);
  });
});

describe('on the command line', () => {
  it('profile measure repeats one row of a payload', async () => {
    const rows: unknown[] = [];
    const { url, inferred } = await serve({
      ...MLSERVER,
      'POST /v2/models/m/infer': infers({ outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 2] }] }),
    });
    const dir = tempDir();
    const payload = writeIn(
      dir,
      'request.json',
      JSON.stringify({ inputs: [{ ...QUESTION, shape: [1, 1] }] }),
    );
    const out = join(dir, 'm.profile.json');
    const args = ['profile', 'measure', '--url', url, '--payload', payload, '--out', out, '--runs', '2'];
    const { status, stderr } = await runCli([...args, '--batch-sizes', '1']);
    expect([status, stderr]).toEqual([0, '']);
    // The answer has one row whatever was asked.
    expect((await runCli([...args, '--batch-sizes', '1,3'])).stderr).toContain('has the shape [1,2]');
    for (const { json } of inferred) rows.push(json.inputs[0].data);
    expect(rows.at(0)).toEqual(['why?']);
    expect(rows.at(-1)).toEqual(['why?', 'why?', 'why?']);
    const two = writeIn(
      dir,
      'two.json',
      JSON.stringify({ inputs: [{ ...QUESTION, shape: [2], data: ['', ''] }] }),
    );
    const { models } = await describeServer(url, { models: ['m'], seed: 1 });
    expect(models).toEqual([{ inputs: null, outputs: [] }]);
    const unbatched = await runCli(
      args.map((arg) => (arg === payload ? two : arg)).concat('--batch-sizes', '1,2'),
    );
    expect(unbatched.stderr).toContain('does not support batches');
  });
});
