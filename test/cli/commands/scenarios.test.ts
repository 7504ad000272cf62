import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Tried } from '../../../src/run/plan/plan-result.js';
import type { ScenarioResults } from '../../../src/run/plan/what-ifs.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, words, writeIn } from '../run-cli.js';

const ONE_THREAD = ['--threads', '1', '--quiet'];
const TARGET = ['--target', 'attainment>=0.9'];
/** On one GPU it serves about 200/s of these in time. */
const EXPERIMENT = SMALL_EXPERIMENT.replace('rate: 400/s', 'rate: 100/s');

test('runs the scenarios of the file and its own with the same seeds, and says how far the target holds', async () => {
  const dir = tempDir();
  const file = writeIn(
    dir,
    'two.yaml',
    `${EXPERIMENT.replace('gpus: 1', 'gpus: [{ kind: a, count: 1, price: 1.5/h }, { kind: b, count: 1, price: 1/h, speed: 0.5 }]')}
scenarios:
  - { name: slow network, overrides: { cluster.network: { delay: 4ms } } }
  - { name: too small, overrides: { cluster.pages: 2 } }
`,
  );
  const out = join(dir, 'out');
  const { stdout, stderr } = await runOk(['scenarios', file, '--threads', '1', ...TARGET, '--out', out]);
  // Some are asked for twice.
  expect(stderr).not.toContain('reused');
  const { scenarios, headroom } = JSON.parse(
    readFileSync(join(out, 'scenarios.json'), 'utf8'),
  ) as ScenarioResults;
  expect(scenarios.map(({ value }) => value)).toEqual([
    ...['baseline', 'slow network', 'too small', 'traffic × 1.5', 'traffic × 2', 'traffic × 3'],
    ...['one a lost', 'one b lost', expect.stringMatching(/^hottest model × 5 \(model-\d+\)$/)],
    'profiles 20 % slower',
  ]);
  expect(stdout).toMatch(/^scenario +attainment>=0\.9 +p99 +worst +per hour +per million in time +meets$/m);
  expect(stdout).toMatch(/^too small .* cannot run: .*: model model-0 needs 7 pages/m);
  const of = (name: string) => scenarios.find(({ value }) => value.startsWith(name))!;
  for (const name of ['baseline', 'slow network', 'traffic × 2', 'one a lost', 'hottest', 'profiles'])
    expect(of(name).attainment).toBeCloseTo(await simulated(file, of(name)), 12);
  expect(of('one a lost').settings).toEqual([
    'cluster.failures=[{"at":"200ms","gpu":0,"for":"forever"}]',
    'warmup=200ms',
  ]);
  expect(of('one b lost').settings[0]).toContain('"gpu":1');
  expect(of('one a lost').costPerHour).toBe(2.5);
  const { holds, misses, tried } = headroom!;
  expect(misses! / holds!).toBeLessThanOrEqual(1.02);
  const factors = tried.map(({ value }) => value);
  for (const [factor, meets] of [
    [holds, 'yes'],
    [misses, 'no'],
  ] as const)
    expect(tried[factors.indexOf(`traffic × ${factor}`)]!.meets).toMatch(
      meets === 'no' ? /no|unsure/ : 'yes',
    );
  expect(stdout).toContain(
    `attainment>=0.9 holds up to ${holds} times the traffic, and no longer at ${misses}`,
  );
  const again = await runCli(['scenarios', file, '--threads', '2', ...TARGET, '--out', out, '--json']);
  expect(again.stderr).toMatch(/\d+ finished runs were reused/);
  expect(JSON.parse(again.stdout)).toEqual({ ...JSON.parse(again.stdout), scenarios, headroom });
});

/** Mean attainment of a scenario's settings by runs of `simulate`. */
async function simulated(file: string, { settings }: Tried): Promise<number> {
  const shares: number[] = [];
  for (const seed of [1, 2, 3]) {
    const set = [...settings, `seed=${seed}`].flatMap((override) => ['--set', override]);
    const { stdout } = await runOk(['simulate', file, ...set, '--json', '--quiet']);
    shares.push((JSON.parse(stdout) as { attainment: number }).attainment);
  }
  return shares.reduce((sum, share) => sum + share) / shares.length;
}

test('multiplies the traffic that a file already multiplies, keeps its failures, and skips what does not apply', async () => {
  const file = writeIn(
    tempDir(),
    'closed.yaml',
    `${EXPERIMENT.replace(/^workload:.*$/m, 'workload: { kind: closed-loop, clients: 4, duration: 1s }').replace('gpus: 1', 'gpus: 2, gpuClock: [{ at: 1ms, factor: 0.5 }], failures: [{ at: 1ms, gpu: 1, for: 5ms }]')}
traffic: { factor: 2 }
`,
  );
  const { stdout } = await runOk(['scenarios', file, ...ONE_THREAD, '--seeds', '1', '--json']);
  const { scenarios, headroom } = JSON.parse(stdout) as ScenarioResults;
  expect(headroom).toBeNull();
  const settings = Object.fromEntries(scenarios.map((one) => [one.value, one.settings]));
  expect(settings).toEqual({
    baseline: [],
    'traffic × 1.5': ['traffic.factor=3'],
    'traffic × 2': ['traffic.factor=4'],
    'traffic × 3': ['traffic.factor=6'],
    'one GPU lost': [
      'cluster.failures=[{"at":"1ms","gpu":1,"for":"5ms"},{"at":"100ms","gpu":0,"for":"forever"}]',
      'warmup=100ms',
    ],
    'profiles 20 % slower': [
      `cluster.gpuClock=[{"at":"0s","factor":${1 / 1.2}},{"at":"1ms","factor":${0.5 / 1.2}}]`,
    ],
  });
});

test.each([
  [
    '[{ name: a, overrides: { slo.x: 1 } }]',
    11,
    /two\.yaml:\d+: scenarios\.0\.overrides\.slo\.x: slo is a plain value/,
  ],
  [
    '[{ name: a, overrides: { slo: 1ms } }, { name: a, overrides: { slo: 2ms } }]',
    12,
    /scenarios\.1\.name: a is listed twice/,
  ],
  [
    '[{ name: a, overrides: { slo: 1ms } }, { name: traffic × 2, overrides: { slo: 2ms } }]',
    12,
    /two\.yaml:\d+: .*traffic × 2 is the name of a scenario that always runs: give it another/,
  ],
  [
    '[{ name: a, overrides: { seed: 2 } }]',
    11,
    /scenarios\.0\.overrides\.seed: every case runs with the same seeds/,
  ],
  ['[{ name: a, overides: { slo: 2ms } }]', 11, /unknown key "overides": did you mean "overrides"/],
])('%s is one line before anything runs', async (scenarios, exit, message) => {
  const dir = tempDir();
  const file = writeIn(dir, 'two.yaml', `${EXPERIMENT}scenarios: ${scenarios}\n`);
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(['scenarios', file, ...ONE_THREAD, '--out', out]);
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
  expect(existsSync(join(out, 'cells'))).toBe(false);
});

test('a target that no factor of the traffic meets is a missed threshold', async () => {
  const file = writeIn(tempDir(), 'slow.yaml', EXPERIMENT);
  const { status, stderr } = await runCli(
    words`scenarios ${file} ${ONE_THREAD} --target executedP50<1us --seeds 1`,
  );
  expect({ status, stderr }).toEqual({
    status: 3,
    stderr:
      'escapement: E_THRESHOLD: executedP50<1us holds at none of the factors tried, down to 0.05 times the traffic\n',
  });
});
