import { join } from 'node:path';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import { protoPath as HEALTH_FILE } from 'grpc-health-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PROTOCOL_FILE } from '../../src/live/frontend/grpc/protocol.js';
import { ROUTES as HTTP_ROUTES } from '../../src/live/frontend/http-frontend.js';
import { ROOT } from '../cli/run-cli.js';
import { serve, simulated, smallModels } from './fixtures.js';

/** `public`: everybody is answered; `token`: only who has the token, if there is one. */
type Rule = 'public' | 'token';

/** Everything that a server answers over HTTP, by port. */
const ROUTES: Readonly<Record<'http' | 'metrics', readonly (readonly [string, string, Rule])[]>> = {
  http: [
    ['GET', '/v2/health/live', 'public'],
    ['GET', '/v2/health/ready', 'public'],
    ['GET', '/v2', 'token'],
    ['GET', '/v2/', 'token'],
    ['GET', '/v2/models', 'token'],
    ['GET', '/v2/models/stats', 'token'],
    ['GET', '/v2/models/model0', 'token'],
    ['GET', '/v2/models/model0/ready', 'token'],
    ['GET', '/v2/models/model0/config', 'token'],
    ['GET', '/v2/models/model0/stats', 'token'],
    ['GET', '/v2/models/model0/versions/1', 'token'],
    ['GET', '/v2/models/model0/versions/1/ready', 'token'],
    ['GET', '/v2/models/model0/versions/1/config', 'token'],
    ['GET', '/v2/models/model0/versions/1/stats', 'token'],
    ['POST', '/v2/models/model0/infer', 'token'],
    ['POST', '/v2/models/model0/versions/1/infer', 'token'],
    ['POST', '/v2/repository/index', 'token'],
    ['POST', '/v2/repository/models/model0/load', 'token'],
    ['POST', '/v2/repository/models/model0/unload', 'token'],
  ],
  metrics: [
    ['GET', '/healthz', 'public'],
    ['GET', '/ui/', 'public'],
    ['GET', '/ui/page.js', 'public'],
    ['GET', '/ui/page.css', 'public'],
    ['GET', '/metrics', 'token'],
    ['GET', '/status', 'token'],
    ['GET', '/ui/activity', 'token'],
  ],
};

/** Methods of gRPC that everybody may call; all others of the .proto files need the token. */
const PUBLIC_METHODS = [
  '/inference.GRPCInferenceService/ServerLive',
  '/inference.GRPCInferenceService/ServerReady',
  '/grpc.health.v1.Health/Check',
  '/grpc.health.v1.Health/List',
  '/grpc.health.v1.Health/Watch',
];

const TOKEN = 's3cret';
const STRANGERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { authorization: '' },
  { authorization: TOKEN },
  { authorization: `Basic ${TOKEN}` },
  { authorization: 'Bearer' },
  { authorization: `Bearer ${TOKEN.slice(1)}` },
  { authorization: `Bearer ${TOKEN}x` },
];
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'];
const RIGHT = { authorization: `Bearer ${TOKEN}` };

const started = async () => {
  const { server } = await serve({ devices: simulated(1, 0), models: smallModels(1, 0) }, ['slo=10s'], {
    ui: true,
    frontend: { token: TOKEN, tls: null },
  });
  return { http: server.http!.port, grpc: server.grpc!.port, metrics: server.metrics!.port };
};

describe.each(['http', 'metrics'] as const)('the %s port', (name) => {
  it('gives strangers what is public, and 401 for all else', async () => {
    const port = (await started())[name];
    const ask = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
      statusOf(port, method, path, headers);
    for (const [, path, rule] of ROUTES[name])
      for (const method of METHODS)
        for (const headers of STRANGERS) {
          const found = await ask(method, path, headers);
          if (rule === 'token') expect(found, `${method} ${path}`).toBe(401);
          else expect(found, `${method} ${path}`).not.toBe(401);
        }
    // Other spellings are no way around, and without the token it cannot be learned which paths there are.
    for (const [, path] of ROUTES[name].filter(([, , rule]) => rule === 'token'))
      for (const dodge of [
        `${path}?a=1`,
        `/.${path}`,
        `/${path}`,
        `${path}/`,
        path.toUpperCase(),
        escaped(path),
      ])
        expect([401, 400], `GET ${dodge}`).toContain(await ask('GET', dodge, {}));
    // With the token each is there; unloading comes last.
    for (const [method, path, rule] of ROUTES[name]) {
      const found = await ask(method, path, rule === 'token' ? RIGHT : {});
      const renamed = path.startsWith('/profile/');
      expect([401, ...(renamed ? [] : [404, 405])], `${method} ${path}`).not.toContain(found);
    }
  });
});

it('the HTTP port has the routes that are listed here, under the same rules', () => {
  const served = HTTP_ROUTES.map(({ path, method, isPublic }) => ({
    path,
    listed: [method, isPublic === true ? 'public' : 'token'],
  }));
  const ofPath = (path: string) => served.find((route) => route.path.test(path));
  for (const [method, path, rule] of ROUTES.http) expect(ofPath(path)?.listed, path).toEqual([method, rule]);
  const reached = new Set(ROUTES.http.map(([, path]) => ofPath(path)));
  expect(served.filter((route) => !reached.has(route))).toEqual([]);
});

it('the metrics port has the routes that are listed here', async () => {
  const { metrics } = await started();
  const answer = await fetch(`http://127.0.0.1:${metrics}/nowhere`, { headers: RIGHT });
  const served = /serves only (.*?);/.exec(await answer.text())?.[1]?.split(', ') ?? [];
  const listed = ROUTES.metrics.map(([, path]) => path).filter((path) => !path.startsWith('/profile/'));
  expect(served.toSorted()).toEqual(listed.toSorted());
});

it('gRPC gives strangers the health, and UNAUTHENTICATED for every other method', async () => {
  const { grpc } = await started();
  const client = new Client(`127.0.0.1:${grpc}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const methods = protocolMethods();
  expect(methods).toEqual(expect.arrayContaining(PUBLIC_METHODS));
  expect(methods.length).toBeGreaterThan(PUBLIC_METHODS.length + 10);
  for (const path of methods) {
    const isPublic = PUBLIC_METHODS.includes(path);
    for (const headers of STRANGERS) {
      const code = await codeOf(client, path, headers);
      if (isPublic) expect(code, path).not.toBe(status.UNAUTHENTICATED);
      else expect(code, path).toBe(status.UNAUTHENTICATED);
    }
    expect(await codeOf(client, path, RIGHT), path).not.toBe(status.UNAUTHENTICATED);
  }
});

async function statusOf(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, redirect: 'manual' });
  await answer.body?.cancel();
  return answer.status;
}

/** The path with its second letter percent-encoded. */
function escaped(path: string): string {
  return `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`;
}

/** Calls a method with an empty message, whatever kind it is: with the first answer, or the end. */
function codeOf(client: Client, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const raw = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(path, raw, raw, metadata);
  call.on('error', () => {});
  call.write(Buffer.alloc(0));
  return new Promise((resolve) => {
    call.on('status', ({ code }) => resolve(code));
    call.once('data', () => {
      resolve(status.OK);
      call.cancel();
    });
    // Only streams answer before the end of what they are sent.
    call.end();
  });
}

/** Every method of the protocols that the servers speak. */
function protocolMethods(): string[] {
  const reflection = ['v1', 'v1alpha'].map((version) =>
    join(ROOT, `node_modules/@grpc/reflection/build/proto/grpc/reflection/${version}/reflection.proto`),
  );
  return [PROTOCOL_FILE, HEALTH_FILE, ...reflection].flatMap((file) =>
    Object.values(loadSync(file)).flatMap((definition) =>
      Object.values(definition as Record<string, MethodDefinition<object, object>>).flatMap((method) =>
        typeof method?.path === 'string' && 'requestSerialize' in method ? method.path : [],
      ),
    ),
  );
}
