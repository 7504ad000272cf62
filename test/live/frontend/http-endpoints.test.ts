import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { echoModel, FakeService } from './fake-service.js';
import { openHttp } from './fixtures.js';

const MODELS = [
  echoModel('mlp', true, [['x', 'FP32', [4]]]),
  echoModel('a b/c', false, [
    ['left', 'INT64', [2, 3]],
    ['right', 'BOOL', []],
  ]),
];

describe('health', () => {
  it('is live at once, and ready when the service is', async () => {
    const service = new FakeService(MODELS);
    const { http } = await openHttp(service);
    service.notReady = 'no worker is up';
    expect(await http.get('/v2/health/live')).toMatchObject({ status: 200, json: { live: true } });
    expect(await http.get('/v2/health/ready')).toMatchObject({
      status: 503,
      json: { ready: false, error: 'the server is not ready: no worker is up' },
    });
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(503);
    service.notReady = null;
    expect(await http.get('/v2/health/ready')).toMatchObject({ status: 200, json: { ready: true } });
    expect(await http.get('/v2/models/mlp/versions/1/ready')).toMatchObject({
      status: 200,
      json: { name: 'mlp', ready: true },
    });
  });
});

describe('metadata', () => {
  it('names the server and what it understands', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    expect((await http.get('/v2')).json).toEqual({
      name: 'escapement',
      version: '1.2.3',
      extensions: [
        'binary_tensor_data',
        'model_repository',
        'model_repository(unload_dependents)',
        'model_configuration',
        'statistics',
        'classification',
      ],
    });
  });

  it('finds models whose names need encoding, and passes queries over', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const { json } = await http.get('/v2/models/a%20b%2Fc?verbose=1');
    expect(json).toMatchObject({ name: 'a b/c', inputs: [{ shape: [2, 3] }, { shape: [] }] });
  });
});

describe('the model repository', () => {
  it('lists no model as ready while the server takes no requests', async () => {
    const service = new FakeService(MODELS);
    const { http } = await openHttp(service);
    service.notReady = 'no worker is up';
    const reason = 'no worker is up';
    expect((await http.post('/v2/repository/index')).json).toEqual([
      { name: 'mlp', version: '1', state: 'UNAVAILABLE', reason },
      { name: 'a b/c', version: '1', state: 'UNAVAILABLE', reason },
    ]);
    expect((await http.post('/v2/repository/index', { ready: true })).json).toEqual([]);
    service.notReady = null;
    expect((await http.post('/v2/repository/index', { ready: true })).json).toHaveLength(2);
  });

  it('lists, unloads and loads models', async () => {
    const brief = MODELS.map((model, m) => (m === 1 ? { ...model, isProvisional: true } : model));
    const { http } = await openHttp(new FakeService(brief));
    const reason = 'measured only briefly';
    expect(await http.post('/v2/repository/models/mlp/unload')).toMatchObject({ status: 200, text: '' });
    expect((await http.post('/v2/repository/index')).json).toEqual([
      { name: 'mlp', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
      { name: 'a b/c', version: '1', state: 'READY', reason },
    ]);
    expect((await http.post('/v2/repository/index', { ready: true })).json).toHaveLength(1);
    expect(await http.get('/v2/models/mlp/ready')).toMatchObject({
      status: 503,
      json: { error: 'model "mlp" is unloaded; load it through the model repository' },
    });
    expect((await http.post('/v2/models/mlp/infer', {})).status).toBe(503);
    expect((await http.post('/v2/repository/models/mlp/load', {})).status).toBe(200);
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(200);
  });

  it('passes on the configuration of a load', async () => {
    const service = new FakeService(MODELS);
    const { http } = await openHttp(service);
    const unload = { parameters: { unload_dependents: true } };
    expect((await http.post('/v2/repository/models/mlp/unload', unload)).status).toBe(200);
    const load = (config: unknown) => http.post('/v2/repository/models/mlp/load', { parameters: { config } });
    expect((await load({})).json.error).toBe('parameter config: expected a text with JSON, got {}');
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(503);
    expect((await load('{"max_batch_size":4}')).status).toBe(200);
    expect(service.configs).toEqual(['{"max_batch_size":4}']);
  });

  it.each([
    ['no JSON', '{"parameters":', /^the body is not JSON: .*; send nothing or \{"parameters":\{/],
    ['blanks', ' ', /^the body is not JSON: /],
    ['a list', '[]', /^the body is not a JSON object: \[\]; send nothing or /],
    ['another member', '{"config":"{}"}', /^the body has the member "config"; send nothing or /],
    ['parameters that are none', '{"parameters":[1]}', 'parameters: expected an object, got [1]'],
    [
      'a file',
      '{"parameters":{"file:1/model.onnx":"AAAA"}}',
      'parameter "file:1/model.onnx" is not supported; change the model\'s files on disk',
    ],
  ])('says which bodies it takes: %s', async (_, body, error) => {
    const { http } = await openHttp(new FakeService(MODELS));
    const says = typeof error === 'string' ? error : expect.stringMatching(error);
    for (const verb of ['load', 'unload']) {
      const answer = await http.post(`/v2/repository/models/mlp/${verb}`, body);
      expect(answer).toMatchObject({ status: 400, json: { error: says } });
    }
    expect((await http.get('/v2/models/mlp/ready')).status).toBe(200);
  });

  it.each(['', '{}', '{"parameters":null}', '{"parameters":{}}', gzipSync('{}')])(
    'takes an empty body and one without parameters: %j',
    async (body) => {
      const { http } = await openHttp(new FakeService(MODELS));
      const headers = typeof body === 'string' ? {} : { 'content-encoding': 'gzip' };
      for (const verb of ['unload', 'load'])
        expect((await http.post(`/v2/repository/models/mlp/${verb}`, body, headers)).status).toBe(200);
    },
  );

  it('takes unload_dependents of an unload alone, true or false', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const ask = async (verb: string, value: unknown) => {
      const body = { parameters: { unload_dependents: value } };
      const { status, json } = await http.post(`/v2/repository/models/mlp/${verb}`, body);
      return [status, json?.error];
    };
    expect(await ask('unload', false)).toEqual([200, undefined]);
    const wrong = 'parameter unload_dependents: expected true or false, got "yes"';
    expect(await ask('unload', 'yes')).toEqual([400, wrong]);
    expect((await ask('load', true))[0]).toBe(400);
  });

  it('says what an index takes', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    const ask = async (body: string) => (await http.post('/v2/repository/index', body)).json.error;
    expect(await ask('{"models":[]}')).toBe(
      'the body has the member "models"; send nothing or {"ready":true}',
    );
    expect(await ask('{"ready":1}')).toBe('ready: expected true or false, got 1');
  });

  it('is not what clients are sent to where they cannot load', async () => {
    const service = new FakeService(MODELS);
    await service.unload('mlp');
    service.howLoaded = 'the server loads it';
    const { http } = await openHttp(service);
    expect((await http.get('/v2/models/mlp/ready')).json).toEqual({
      error: 'model "mlp" is unloaded; the server loads it',
    });
  });
});

describe('what is not there', () => {
  it.each([
    ['GET', '/v2/systemsharedmemory/status', /^shared memory is left out/],
    ['POST', '/v2/systemsharedmemory/region/a/register', /^shared memory is left out/],
    ['POST', '/v2/cudasharedmemory/unregister', /^shared memory is left out/],
    ['GET', '/v2/trace/setting', /^logs and journals are set up/],
    ['POST', '/v2/models/mlp/trace/setting', /^logs and journals are set up/],
    ['POST', '/v2/logging', /^logs and journals are set up/],
  ])('%s %s of other servers is answered 501 with the reason', async (method, path, reason) => {
    const { http } = await openHttp(new FakeService(MODELS));
    expect(await http.send(method, path, undefined, {})).toMatchObject({
      status: 501,
      json: { error: expect.stringMatching(reason) },
    });
  });

  it.each([
    ['GET', '/v2/models/mlp/infer', 'POST, OPTIONS'],
    ['GET', '/v2/repository/models/other/load', 'POST, OPTIONS'],
    ['GET', '/v2/repository/index', 'POST, OPTIONS'],
    ['DELETE', '/v2/repository/models/mlp/unload', 'POST, OPTIONS'],
    ['POST', '/v2', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/v2/models/mlp', 'GET, HEAD, OPTIONS'],
    ['POST', '/v2/health/live', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 and allows %s', async (method, path, allowed) => {
    const { http } = await openHttp(new FakeService(MODELS));
    const { status, headers } = await http.send(method, path, undefined, {});
    expect([status, headers.get('allow')]).toEqual([405, allowed]);
  });

  it('says so of a badly encoded path', async () => {
    const { http } = await openHttp(new FakeService(MODELS));
    expect((await http.get('/v2/models/%E0%A4%A')).status).toBe(400);
  });
});
