import { once } from 'node:events';
import { request } from 'node:https';
import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openGrpcFrontend } from '../../../src/live/frontend/grpc-frontend.js';
import { openHttpFrontend } from '../../../src/live/frontend/http-frontend.js';
import type { ServerTls } from '../../../src/live/wire/credentials.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { echoModel, FakeService } from './fake-service.js';
import { exchangeRaw, openGrpc, openHttp } from './fixtures.js';
import { GrpcClient } from './grpc-client.js';

const MODELS = [echoModel('mlp', true, [['x', 'FP32', [2]]])];
const RIGHT = { authorization: 'Bearer s3cret' };
const WRONG = [
  {},
  { authorization: 'Bearer s3cre' },
  { authorization: 's3cret' },
  { authorization: 'Basic s3cret' },
];

let identity: ServerTls;
beforeAll(() => {
  if (!noOpenssl) identity = selfSigned();
});

const clients: GrpcClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

describe('a token', () => {
  it('is asked for over HTTP, except for the health', async () => {
    const { http } = await openHttp(new FakeService(MODELS), { token: 's3cret' });
    for (const headers of WRONG) {
      const { status: code, headers: given } = await http.get('/v2', headers as Record<string, string>);
      expect([code, given.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect((await http.post('/v2/models/mlp/infer', '{}', headers as Record<string, string>)).status).toBe(
        401,
      );
    }
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await http.get('/v2', { authorization: `${scheme} s3cret` })).status).toBe(200);
    expect((await http.post('/v2/models/mlp/infer', '{}', RIGHT)).status).toBe(400);
    expect((await http.get('/v2/health/live')).status).toBe(200);
    expect((await http.get('/v2/health/ready')).status).toBe(200);
  });
});

describe('TLS', () => {
  it('encrypts HTTP', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const { port } = await openHttp(new FakeService(MODELS), { tls: identity });
    const asked = request({
      host: 'localhost',
      port,
      path: '/v2/health/live',
      ca: identity.cert,
      agent: false,
    }).end();
    const [response] = await once(asked, 'response');
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(await exchangeRaw(port, 'GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n')).not.toContain('200');
  });

  it('shows a renewed certificate to later gRPC connections', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const frontend = await openGrpc(new FakeService(MODELS), { tls: identity });
    const early = grpcClient(frontend.port, credentials.createSsl(identity.cert));
    expect(await early.call('ServerLive', {})).toEqual({ live: true });
    const renewed = selfSigned();
    frontend.renew(renewed);
    const late = grpcClient(frontend.port, credentials.createSsl(renewed.cert));
    expect(await late.call('ServerLive', {})).toEqual({ live: true });
    expect(await early.call('ServerLive', {})).toEqual({ live: true });
  });

  it.each([
    ['HTTP', openHttpFrontend],
    ['gRPC', openGrpcFrontend],
  ])('is not begun over %s with a certificate that is none', async (_, open) => {
    const tls = { cert: Buffer.from('no'), key: Buffer.from('no') };
    const options = { port: 0, defaultSloNs: 1, serverVersion: '1', tls };
    await expect(open(new FakeService(MODELS), options)).rejects.toMatchObject({ code: 'E_TLS' });
  });
});

function grpcClient(port: number, tls = credentials.createInsecure()): GrpcClient {
  const client = new GrpcClient(port, tls);
  clients.push(client);
  return client;
}
