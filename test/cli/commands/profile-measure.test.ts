import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Profile, profileSchema } from '../../../src/config/profile.js';
import { echoModel, FakeService } from '../../live/frontend/fake-service.js';
import { openGrpc, openHttp } from '../../live/frontend/fixtures.js';
import { HttpServer } from '../../load/http-server.js';
import { runCli, tempDir, words, writeIn } from '../run-cli.js';

const noPython = spawnSync('python3', ['--version']).error !== undefined;
const SLEEPER = fileURLToPath(new URL('../../tools/profile/sleeping_server.py', import.meta.url));

async function openSleeper(baseMs: number, rowMs: number): Promise<string> {
  const child = spawn('python3', [SLEEPER, String(baseMs), String(rowMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const [line] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${Number(String(line))}`;
}

const measure = (cwd: string, ...args: string[]) =>
  runCli(['profile', 'measure', '--quiet', ...args], { cwd });

function profileIn(dir: string, file: string): Profile {
  return profileSchema.parse(JSON.parse(readFileSync(join(dir, file), 'utf8')));
}

const EXPERIMENT = `cluster: { gpus: 1 }
models: { kind: profile, path: rows.profile.json }
policy: { kind: fifo }
workload: { kind: poisson, rate: 5/s, duration: 3s }
slo: 30s
`;

describe('a server in Python that sleeps for a known time', () => {
  it('is measured, simulated, and compared with its simulation', async ({ skip }) => {
    skip(noPython, 'no Python is installed (Debian: python3)');
    const url = await openSleeper(30, 10);
    const dir = tempDir();
    const sizes = ['--batch-sizes', '1,2,8,16'];
    const { status, stdout, stderr } = await measure(
      dir,
      ...words`--url ${url} --model rows --runs 5 --weights 2MiB --load-time 3ms ${sizes}`,
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`rows on server at ${url} (sleeper 1)\n`);
    expect(stdout).toContain('batch 16 was rejected: HTTP 400: at most 8 rows\n');
    const seen = (await (await fetch(`${url}/seen`)).json()) as number[];
    // The first of each size is checked, and not timed.
    expect(seen).toEqual([1, 2, 8].flatMap((rows) => new Array(6).fill(rows)));

    const profile = profileIn(dir, 'rows.profile.json');
    expect(profile).toMatchObject({
      name: 'rows',
      precision: 'FP32',
      inputBytes: 16,
      outputBytes: 16,
      weightsBytes: 2 * 1024 * 1024,
      loadMs: 3,
    });
    expect(profile.source.load).toBe('given with --load-time: not visible from outside');
    const roundTripMs = Number(
      /round trip of calls without work, ([\d.]+) ms/.exec(profile.source.batches)?.[1],
    );
    expect(profile.batches.map(({ batch }) => batch)).toEqual([1, 2, 8]);
    for (const { batch, minMs } of profile.batches)
      expect((minMs as number) + roundTripMs).toBeGreaterThanOrEqual(30 + 10 * batch - 1);

    writeIn(dir, 'served.yaml', EXPERIMENT);
    const simulated = await runCli(['simulate', 'served.yaml', '--quiet', '--out', 'simulated'], {
      cwd: dir,
    });
    const played = await runCli(['load', 'served.yaml', '--url', url, '--quiet', '--out', 'played'], {
      cwd: dir,
    });
    expect([simulated.stderr, simulated.status, played.status]).toEqual(['', 0, 0]);
    const compared = await runCli(['compare', 'simulated', 'played', '--json'], { cwd: dir });
    const { runs, figures } = JSON.parse(compared.stdout);
    expect(runs).toMatchObject([{ kind: 'simulated' }, { kind: 'load', digest: null }]);
    for (const name of ['goodputRps', 'attainment', 'p50', 'p99']) {
      const { values, differences } = figures.find((figure: { name: string }) => figure.name === name);
      expect([...values, ...differences].every(Number.isFinite), name).toBe(true);
    }
  });
});

describe.each(Object.entries({ http: openHttp, grpc: openGrpc }))(
  'a server of ours over %s',
  (scheme, open) => {
    it('is measured like any other', async () => {
      const service = new FakeService([
        echoModel('team/tiny', true, [['x', 'FP32', [4]]]),
        echoModel('fixed', false, [['x', 'FP64', [2, 3]]]),
      ]);
      const { port } = await open(service);
      const dir = tempDir();
      const { status, stdout } = await measure(
        dir,
        ...['--url', `${scheme}://127.0.0.1:${port}`, '--runs', '3', '--json'],
      );
      expect(status).toBe(0);
      const { profiles } = JSON.parse(stdout);
      expect(profiles).toMatchObject([
        { path: 'team%2Ftiny.profile.json', measurement: { refused: null, outputBytes: 16 } },
        { path: 'fixed.profile.json', measurement: { refused: null, outputBytes: 48 } },
      ]);
      expect(profileIn(dir, 'team%2Ftiny.profile.json').batches.map(({ runs }) => runs)).toEqual([
        3, 3, 3, 3,
      ]);
      // Rows are requests of their own to our scheduler.
      const bytes = service.requests.map(({ inputs }) => inputs[0].length);
      expect(bytes).toEqual([...new Array(4 * 15).fill(16), ...new Array(4).fill(48)]);
    });
  },
);

describe('what cannot be measured is said', () => {
  const x = { name: 'x', datatype: 'FP32', shape: [-1, 3] };
  const fails = async (url: string, ...args: string[]) => {
    const { status, stderr } = await measure(tempDir(), '--url', url, '--runs', '2', ...args);
    return `${status} ${stderr}`;
  };

  it('before anything is sent', async () => {
    const server = await HttpServer.open({ inputs: [{ ...x, shape: [-1, -1, 3] }] });
    const url = server.url;
    expect(await fails('http://127.0.0.1:1')).toMatch(/E_SERVER: http:\/\/127.0.0.1:1 cannot be reached/);
    expect(await fails('ftp://x')).toMatch(/E_USAGE: --url ftp:\/\/x: write http:\/\/HOST:PORT/);
    expect(await fails(url, '--model', 'c')).toMatch(
      /E_UNKNOWN_MODEL: the server has no model c; it has a, b/,
    );
    expect(await fails(url, '--model', 'a')).toMatch(
      /E_UNKNOWN_MODEL: model a: input x is FP32 \[-1,-1,3\], and only the first dimension/,
    );
    expect(await fails(url, '--out', 'p.json')).toMatch(/E_USAGE: --out holds the profile of one model/);
    expect((await runCli(['profile', 'measure'])).stderr).toMatch(/E_USAGE: .*give PATH.*or --url/);
    expect((await runCli(['profile', 'measure', 'models', '--url', url])).stderr).toMatch(/E_USAGE/);
    const fixed = await HttpServer.open({ inputs: [{ ...x, shape: [1, 3] }] });
    expect(await fails(fixed.url, '--batch-sizes', '1,2')).toMatch(/E_USAGE: .*does not support batches/);
    const loading = await HttpServer.open({ ready: false });
    expect(await fails(loading.url, '--model', 'a')).toMatch(/E_SERVER: .* is not ready/);
  });

  it('when the server refuses', async () => {
    const overloaded = await HttpServer.open({ infer: (inference) => inference.answer(429) });
    expect(await fails(overloaded.url)).toMatch(
      /E_SERVER: .* answers HTTP 429 .*to a request of 1 row to model a: it is overloaded/,
    );
    const broken = await HttpServer.open({ infer: (inference) => inference.answer(500) });
    expect(await fails(broken.url)).toMatch(/E_SERVER: .* answers HTTP 500 .*: see its log/);
    const picky = await HttpServer.open({ infer: (inference) => inference.answer(400) });
    expect(await fails(picky.url)).toMatch(/E_SERVER: .* answers HTTP 400/);
  });
});
