import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MAIN, ROOT, runCli, tempDir, writeIn } from '../../cli/run-cli.js';
import { ServerProcess } from '../../cli/server-process.js';
import { freePorts } from '../../free-ports.js';
import { madeUpProfile } from '../../made-up-profile.js';

/** An INFER takes 30 ms, and tensors are small: 20 requests a second keep a GPU busy for more than half of the time, but no CPU. */
const PROFILE = madeUpProfile({ name: 'slow', inputBytes: 16, batches: [{ batch: 1, medianMs: 30 }] });
const SCALED = `cluster: { gpus: [{ kind: v100, count: 1, max: 3, start: 3s }] }
scaler: { kind: reactive, interval: 500ms, utilization: 0.25, stabilization: 3s }
`;
const LOAD = (profile: string) => `models: { kind: profile, path: ${profile} }
workload:
  - { name: all-the-time, kind: poisson, rate: 2/s, duration: 40s }
  - { name: busy, kind: poisson, rate: 20/s, duration: 15s, start: 2s }
slo: 20s
`;

async function until<T>(read: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read().catch(() => undefined);
    if (value !== undefined && isThere(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

it('workers are started as load rises, serve, and end as it falls, and no request fails', {
  timeout: 180_000,
}, async () => {
  const dir = tempDir();
  const profile = writeIn(dir, 'slow.json', JSON.stringify(PROFILE));
  const [listen, http, metrics, first] = await freePorts(4);
  const controller = new ServerProcess([
    ...['controller', '--listen', String(listen), '--http-port', String(http), '--grpc-port', 'off'],
    ...[
      '--metrics-port',
      String(metrics),
      '--max-gpus',
      '3',
      '--experiment',
      writeIn(dir, 'scaled.yaml', SCALED),
    ],
  ]);
  const metricsUrl = `http://127.0.0.1:${metrics}/metrics`;
  const script = join(ROOT, 'deploy/scaling/local.mjs');
  const scaler = spawn(
    process.execPath,
    [script, metricsUrl, `127.0.0.1:${listen}`, '--device', `simulated:${profile}`],
    {
      cwd: ROOT,
      stdio: 'ignore',
      env: {
        ...process.env,
        SCALING_COMMAND: `${process.execPath} ${MAIN}`,
        SCALING_FIRST_PORT: String(first),
        SCALING_POLL_MS: '300',
      },
    },
  );
  const ended = new Promise<number | null>((resolve) => scaler.once('exit', resolve));
  onTestFinished(() => {
    scaler.kill('SIGTERM');
  });
  await controller.ready();
  const read = async (name: string) => {
    const text = await (await fetch(metricsUrl)).text();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  };
  const load = runCli([
    ...[
      'load',
      writeIn(dir, 'load.yaml', LOAD(profile)),
      '--url',
      `http://127.0.0.1:${http}`,
      '--json',
      '--quiet',
    ],
  ]);
  expect(
    await until(
      () => read('escapement_workers_joined_total'),
      (joined) => joined >= 2,
    ),
  ).toBeGreaterThan(1);
  expect(
    await until(
      () => read('escapement_workers_left_total'),
      (left) => left >= 1,
    ),
  ).toBeGreaterThan(0);
  const { stdout, stderr } = await load;
  const { requests } = JSON.parse(stdout.slice(stdout.indexOf('{')));
  expect(requests, stderr).toMatchObject({ ok: requests.offered, error: 0 });
  expect(requests.offered).toBeGreaterThan(250);
  expect(await read('escapement_workers_lost_total')).toBe(0);
  scaler.kill('SIGTERM');
  expect(await ended).toBe(0);
});
