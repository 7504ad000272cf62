import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { summarySchema } from '../../src/metrics/schema.js';
import { GrpcServer } from '../live/load/grpc-server.js';
import { HttpServer } from '../live/load/http-server.js';
import { runCli, tempDir, writeIn } from './run-cli.js';

const EXPERIMENT = `name: small
models:
  - { kind: fit, name: a, parameters: 25.6M }
  - { kind: fit, name: b, parameters: 25.6M }
workload: { kind: fixed, rate: 100/s, duration: 1h }
slo: 10s
`;

const experiment = (text = EXPERIMENT) => writeIn(tempDir(), 'small.yaml', text);
const load = (url: string, ...flags: string[]) =>
  runCli(['load', experiment(), '--url', url, '--duration', '300ms', ...flags]);

test('prints the summary that simulate prints', async () => {
  const server = await HttpServer.open({ extensions: ['binary_tensor_data'] });
  const json = await load(server.url, '--json');
  expect(json.stderr).toMatch(/load: requests were sent p50 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms later/);
  expect(json.status).toBe(0);
  const summary = summarySchema.strict().parse(JSON.parse(json.stdout));
  expect(summary).toMatchObject({ name: 'small', policy: 'remote', durationSeconds: 0.3 });
  expect(summary.requests).toMatchObject({ offered: 30, ok: 30 });
  const text = await load(server.url, '--quiet');
  expect(text.stdout).toMatch(/^seed +1\n(?:.*\n)*requests +30: 30 ok/);
  expect(text.stderr).toBe('');
});

test('speaks gRPC and plays closed-loop clients', async () => {
  const server = await GrpcServer.open();
  const clients = ['--set', 'workload={kind: closed-loop, clients: 4, think: 20ms}'];
  const { status, stdout } = await load(server.url, '--json', ...clients);
  expect(status).toBe(0);
  const { requests } = summarySchema.parse(JSON.parse(stdout));
  expect(requests.ok).toBe(requests.offered);
  expect(requests.ok).toBeGreaterThan(4);
});

test('--out writes what report draws, and --duration holds for every section', async () => {
  const server = await HttpServer.open();
  const dir = tempDir();
  const out = join(dir, 'out');
  const sections = EXPERIMENT.replace(
    /workload: .*/,
    'workload: [{ kind: fixed, rate: 100/s, duration: 1h }, { kind: poisson, rate: 50/s, duration: 2h }]',
  );
  const file = writeIn(dir, 'small.yaml', sections);
  const { status } = await runCli(['load', file, '--url', server.url, '--duration', '200ms', '--out', out]);
  expect(status).toBe(0);
  expect(readdirSync(out).sort()).toEqual(['requests.tsv', 'run.json', 'summary.json']);
  const summary = JSON.parse(readFileSync(join(out, 'summary.json'), 'utf8'));
  expect(summary.durationSeconds).toBe(0.2);
  expect((await runCli(['report', out])).status).toBe(0);
});

test('a threshold that is not met has its own exit status', async () => {
  const server = await HttpServer.open({ infer: (inference) => inference.answer(429) });
  const { status, stderr } = await load(server.url, '--quiet', '--threshold', 'ok>0');
  expect(status).toBe(3);
  expect(stderr).toBe('escapement: E_THRESHOLD: ok>0: not met, ok is 0\n');
});

test('a server that dies ends with its own exit status, after the figures', async () => {
  let served = 0;
  const server = await HttpServer.open({
    infer: (inference) => (++served < 5 ? inference.answer(200) : server.die()),
  });
  const { status, stdout, stderr } = await load(server.url, '--json', '--quiet');
  expect(status).toBe(49);
  const { requests } = summarySchema.parse(JSON.parse(stdout));
  expect(requests.offered).toBe(30);
  expect(requests.error).toBeGreaterThan(0);
  expect(stderr).toMatch(/^escapement: E_ANSWERS_LOST: \d+ requests to http:.* were lost .*\n$/);
});

test('says in one line what is wrong', async () => {
  const server = await HttpServer.open({ models: ['a', 'c'] });
  const cases: [ReturnType<typeof load>, number, RegExp][] = [
    [load(server.url), 33, /E_UNKNOWN_MODEL: the server has no model b; it has a, c: give/],
    [load('http://127.0.0.1:1'), 48, /E_SERVER: http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/],
    [load('grpc://127.0.0.1:1'), 48, /E_SERVER: grpc:\/\/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/],
    [load('127.0.0.1:8000'), 2, /E_USAGE: --url 127\.0\.0\.1:8000: write http:\/\/HOST:PORT/],
    [load(server.url, '--connections', '0'), 2, /E_USAGE: --connections 0/],
    [load(server.url, '--ca', '/nowhere.pem'), 20, /E_FILE_MISSING: \/nowhere\.pem: no such file/],
    [runCli(['load', experiment()]), 2, /E_USAGE: Missing required argument: url/],
  ];
  for (const [running, expected, message] of cases) {
    const { status, stderr } = await running;
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(status).toBe(expected);
  }
});
