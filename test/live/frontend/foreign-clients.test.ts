import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { OUTCOME_REJECTED } from '../../../src/core/request.js';
import { pythonWith } from '../../python.js';
import { echo, echoModel, FakeService, failure } from './fake-service.js';
import { openGrpc, openHttp } from './fixtures.js';

const run = promisify(execFile);
const MODELS = [echoModel('mlp', true, [['x', 'FP32', [2]]]), echoModel('busy', true, [['x', 'FP32', [2]]])];

const python = pythonWith('grpc');
const noCurl = spawnSync('curl', ['--version']).error !== undefined;

describe('clients that this project did not write', () => {
  it('grpcio of Python speaks with the gRPC frontend', async ({ skip }) => {
    skip(python === undefined, 'no Python with grpcio is installed (Debian: python3-grpcio)');
    const service = new FakeService(MODELS);
    service.answer = (request) => (request.model === 1 ? failure(OUTCOME_REJECTED, 70e6) : echo(request));
    const { port } = await openGrpc(service);
    const script = fileURLToPath(new URL('foreign_client.py', import.meta.url));
    const { stdout } = await run(python as string, [script, String(port)]);
    expect(JSON.parse(stdout)).toEqual({
      live: [1],
      ready: [1],
      server: 'escapement',
      input: ['x', 'FP32'],
      model: 'mlp',
      version: '1',
      id: 'my id',
      output: ['out-x', 'FP32', [2, 2]],
      values: [1, 2, 3, 4],
      typed: [1, 2, 3, 4],
      index: ['mlp', 'busy'],
      unknown: {
        code: 'NOT_FOUND',
        details: 'Request for unknown model: "other" is not found',
        trailers: {},
      },
      rejected: {
        code: 'RESOURCE_EXHAUSTED',
        details: 'the SLO of 50 ms cannot be met: it would take 70.000 ms',
        trailers: { 'predicted-ms': '70' },
      },
    });
    expect(service.requests[0].sloNs).toBe(50_000_000);
  });

  it('curl speaks with the HTTP frontend', async ({ skip }) => {
    skip(noCurl, 'curl is not installed');
    const { port } = await openHttp(new FakeService(MODELS), { maxBodyBytes: 3_000_000 });
    const curl = async (path: string, ...options: string[]) => {
      const shown = ['-s', '-m', '30', '-w', '\n%{http_code}', ...options];
      const { stdout } = await run('curl', [...shown, `http://127.0.0.1:${port}${path}`]);
      return stdout.split('\n');
    };
    expect(await curl('/v2/health/ready')).toEqual(['{"ready":true}', '200']);
    const body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[[1,2]]}]}';
    const [json, code] = await curl('/v2/models/mlp/infer', '-d', body);
    expect([JSON.parse(json).outputs[0].data, code]).toEqual([[1, 2], '200']);
    expect((await curl('/v2/models/mlp/infer', '-d', '{'))[1]).toBe('400');
  });
});
