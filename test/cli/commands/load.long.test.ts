import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { summarySchema } from '../../../src/record/schema-summary.js';
import { GrpcServer } from '../../load/grpc-server.js';
import { HttpServer } from '../../load/http-server.js';
import { runCli, tempDir, writeIn } from '../run-cli.js';
import { ServerProcess, tinyProfile } from '../server-process.js';

const EXPERIMENT = `name: small
models:
  - { kind: fit, name: a, parameters: 25.6M }
  - { kind: fit, name: b, parameters: 25.6M }
workload: { kind: fixed, rate: 100/s, duration: 1h }
slo: 10s
`;

const experiment = (text = EXPERIMENT) => writeIn(tempDir(), 'small.yaml', text);
const loadFor = (duration: string, url: string, ...flags: string[]) =>
  runCli(['load', experiment(), '--url', url, '--set', `workload.duration=${duration}`, ...flags]);
const load = (url: string, ...flags: string[]) => loadFor('300ms', url, ...flags);

/** A busy machine may send late, and says so even with --quiet. */
function withoutWarnings(stderr: string): string {
  return stderr.replaceAll(/^warning: .*requests were sent late.*\n/gm, '');
}

test('prints the summary that simulate prints', async () => {
  const server = await HttpServer.open({ extensions: ['binary_tensor_data'] });
  const json = await load(server.url, '--json');
  expect(json.stderr).toMatch(/load: requests were sent p50 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms later/);
  expect(json.status).toBe(0);
  const summary = summarySchema.strict().parse(JSON.parse(json.stdout));
  expect(summary).toMatchObject({ name: 'small', kind: 'load', durationSeconds: 0.3 });
  expect(summary.requests).toMatchObject({ offered: 30, ok: 30 });
  expect(summary.generator).toMatchObject({ waitedForConnection: 0, notSent: 0 });
  expect(summary.generator?.sentLateMs?.p99).toBeGreaterThan(0);
  const text = await load(server.url, '--quiet');
  expect(text.stdout).toMatch(/^seed +1\n(?:.*\n)*requests +30: 30 ok/);
  expect(text.stdout).toContain(`run       small, load against ${server.url}, 0.3 s\n`);
  expect(text.stdout).not.toMatch(/INFER|GPU|batches|cold|digest|policy/);
  expect(withoutWarnings(text.stderr)).toBe('');
});

test('a server that dies ends with its own exit status, after the figures', async () => {
  let served = 0;
  const server = await HttpServer.open({
    infer: (inference) => (++served < 5 ? inference.answer(200) : server.die()),
  });
  // Over one connection: the others wait for it.
  const { status, stdout, stderr } = await load(server.url, '--json', '--quiet', '--connections', '1');
  expect(status).toBe(49);
  const { requests, generator } = summarySchema.parse(JSON.parse(stdout));
  expect(requests.offered).toBe(30);
  expect(requests.error).toBe(26);
  expect(generator!.unanswered).toEqual({ lost: 1, neverSent: 25, givenUp: 0 });
  expect(stderr).toMatch(
    /(?:^|\n)escapement: E_ANSWERS_LOST: 1 request to http:\S+ was lost when .*; 25 requests to http:\S+ were never sent .*ECONNREFUSED.*\n$/,
  );
});

test('says in one line what is wrong', async () => {
  const server = await HttpServer.open({ models: ['a', 'c'] });
  const cases: [ReturnType<typeof load>, number, RegExp][] = [
    [load(server.url), 33, /E_UNKNOWN_MODEL: the server has no model b; it has a, c: use/],
    [load('http://127.0.0.1:1'), 48, /E_SERVER: http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/],
    [load('grpc://127.0.0.1:1'), 48, /E_SERVER: grpc:\/\/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/],
    [load('127.0.0.1:8000'), 2, /E_USAGE: --url 127\.0\.0\.1:8000: write http:\/\/HOST:PORT/],
    [
      load(server.url, '--threshold', 'coldStarts<1'),
      2,
      /E_USAGE: --threshold 'coldStarts<1': only the scheduler knows coldStarts/,
    ],
    [load(server.url, '--threshold', 'missedWindow<1%'), 2, /only the scheduler knows missedWindow/],
    [load(server.url, '--connections', '0'), 2, /E_USAGE: --connections 0/],
    [load(server.url, '--ca', '/nowhere.pem'), 20, /E_FILE_MISSING: \/nowhere\.pem: --ca: no such file/],
    [runCli(['load', experiment()]), 2, /E_USAGE: --url is required/],
  ];
  for (const [running, expected, message] of cases) {
    const { status, stderr } = await running;
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(status).toBe(expected);
  }
});

test('reports the statuses of failed requests, and what the server said', async () => {
  let count = 0;
  const refuse = { error: 'the SLO <b>cannot</b> be met' };
  const server = await HttpServer.open({
    infer: (inference) => {
      if (++count % 3 > 0) inference.answer(200);
      else inference.response.writeHead(429).end(JSON.stringify(refuse));
    },
  });
  const out = join(tempDir(), 'out');
  const text = await load(server.url, '--quiet', '--out', out);
  expect(text.stdout).toContain(`answers   HTTP 200: 20\n          HTTP 429: 10, e.g. "${refuse.error}"\n`);
  const { answers } = JSON.parse(readFileSync(join(out, 'summary.json'), 'utf8'));
  expect(answers).toEqual([
    { status: 'HTTP 200', count: 20, message: '' },
    { status: 'HTTP 429', count: 10, message: refuse.error },
  ]);
  expect((await runCli(['report', out])).status).toBe(0);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).toContain('HTTP 429: 10, e.g. &#34;the SLO &#60;b&#62;cannot&#60;/b&#62; be met');
  expect(page).not.toContain('<b>cannot');

  const grpc = await GrpcServer.open({ infer: () => status.RESOURCE_EXHAUSTED });
  const overGrpc = await load(grpc.url, '--json', '--quiet');
  expect(JSON.parse(overGrpc.stdout).answers).toEqual([
    { status: 'gRPC RESOURCE_EXHAUSTED', count: 30, message: 'as the test wants' },
  ]);
});

test('sends a token from a file, reports a wrong one, and never prints it', async () => {
  const dir = tempDir();
  const [right, wrong] = [writeIn(dir, 'right', 'sesame-42\n'), writeIn(dir, 'wrong', 'guess\n')];
  const server = new ServerProcess([
    ...['serve', '--device', `simulated:${tinyProfile()}`, '--token-file', right],
    ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off', '--set', 'slo=10s'],
  ]);
  const ports = await server.ready();
  const models = 'models: { kind: fit, name: tiny, parameters: 1M }';
  const file = writeIn(
    dir,
    'tiny.yaml',
    EXPERIMENT.replace(/models:[\s\S]*?\nworkload/, `${models}\nworkload`),
  );
  const run = (url: string, ...flags: string[]) =>
    runCli(['load', file, '--url', url, '--set', 'workload.duration=200ms', '--quiet', ...flags]);
  for (const [url, code] of [
    [`http://127.0.0.1:${ports.http}`, '401'],
    [`grpc://127.0.0.1:${ports.grpc}`, 'UNAUTHENTICATED'],
  ] as const) {
    const none = await run(url);
    expect(none.stderr).toBe(
      `escapement: E_SERVER: ${url} requires a token (status ${code}): pass a file with it to --token-file\n`,
    );
    const other = await run(url, '--token-file', wrong);
    expect(other.stderr).toBe(
      `escapement: E_SERVER: ${url} rejects the token (status ${code}): pass a file with the right one to --token-file\n`,
    );
    expect([none.status, other.status]).toEqual([48, 48]);
    const out = join(dir, code);
    const good = await run(url, '--token-file', right, '--out', out);
    expect([good.status, withoutWarnings(good.stderr)]).toEqual([0, '']);
    expect(good.stdout).toMatch(/^answers {3}(HTTP 200|gRPC OK): 20$/m);
    await runCli(['report', out]);
    const page = readFileSync(join(out, 'report.html'), 'utf8');
    expect(page).toContain('--token-file');
    expect(page + readFileSync(join(out, 'run.json'), 'utf8')).not.toContain('sesame');
  }
});
