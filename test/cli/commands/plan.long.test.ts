import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Plan } from '../../../src/run/plan/plan-result.js';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, words, writeIn } from '../run-cli.js';

/** A thread takes longer to start than these simulations to run. */
const ONE_THREAD = ['--threads', '1'];
const TARGET = ['--target', 'attainment>=0.9'];
const GPUS = [...TARGET, '--over', 'cluster.gpus=1:16'];

test('finds the fewest GPUs, says by how much, and writes the plan and a page', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(['plan', small(dir), ...ONE_THREAD, ...GPUS, '--out', out]);
  expect(status).toBe(0);
  expect(stderr).toMatch(/^seed 1, 2, 3: 16 candidate values/);
  const [, answer] = /^Fewest GPUs with attainment>=0\.9: (\d+)$/m.exec(stdout) as unknown as [
    string,
    string,
  ];
  const before = String(Number(answer) - 1);
  expect(stdout).toMatch(/^GPUs {2,}attainment>=0\.9 {2}meets$/m);
  expect(stdout).toMatch(new RegExp(`^ +${answer} +[\\d.]+ % ± [\\d.]+ {2}yes$`, 'm'));
  expect(stdout).toMatch(
    new RegExp(`^✓ attainment>=0\\.9: .* at ${answer} GPUs, its 95 % interval starts .* above 90 %$`, 'm'),
  );
  const plan = JSON.parse(readFileSync(join(out, 'plan.json'), 'utf8')) as Plan;
  expect(plan).toMatchObject({ version: 4, outcome: 'boundary', answer, before });
  expect(plan.tried.map(({ value }) => Number(value))).toEqual(
    plan.tried.map(({ value }) => Number(value)).sort((left, right) => left - right),
  );
  const page = readFileSync(join(out, 'plan.html'), 'utf8');
  expect(page).toContain(`Fewest GPUs with attainment&#62;=0.9: ${answer}`);
  expect(page).toContain('<svg');
  expect(page).toContain('escapement plan experiment.yaml');
});

test('gives the same bytes with one thread, with four, and after an interruption', async () => {
  const dir = tempDir();
  const plan = (out: string, ...flags: string[]) =>
    words`plan ${small(dir)} ${GPUS} --out ${join(dir, out)} ${flags}`;
  await runOk(plan('one', '--threads', '1'));
  await runOk(plan('four', '--threads', '4'));
  const stopped = await spawnCli(plan('stopped', '--threads', '1'), {
    interruptWhen: (stderr) => /plan \d+%/.test(stderr),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.stderr).toMatch(/interrupted: \d+ runs are kept in /);
  expect(existsSync(join(dir, 'stopped', 'plan.json'))).toBe(false);
  const resumed = await runCli(plan('stopped', '--threads', '2'));
  expect(resumed.stderr).toMatch(/\d+ finished runs were reused/);
  for (const name of ['plan.json', 'plan.html']) {
    const bytes = readFileSync(join(dir, 'one', name));
    expect(readFileSync(join(dir, 'four', name)).equals(bytes)).toBe(true);
    expect(readFileSync(join(dir, 'stopped', name)).equals(bytes)).toBe(true);
  }
});

test('where nothing meets it says how close the best came, with the status of a missed threshold', async () => {
  const dir = tempDir();
  const { status, stdout, stderr } = await runCli(
    words`plan ${small(dir)} ${TARGET} --over slo=2ms:10ms --quiet`,
  );
  expect(status).toBe(3);
  expect(stdout).toMatch(
    /^✗ attainment>=0\.9: .* at SLO 10 ms, the closest, its 95 % interval starts .* below 90 %$/m,
  );
  expect(stderr).toBe(
    'escapement: E_THRESHOLD: None of the 9 values tried from 2ms to 10ms meets attainment>=0.9\n',
  );
});

test.each([
  [['--over', 'slo=1ms:9ms'], 2, /E_USAGE: --target is missing/],
  [
    [...TARGET, '--over', 'cluster.gpu=1:4'],
    11,
    /E_CONFIG_KEY: --over cluster\.gpu=1:4: .*did you mean "gpus"/,
  ],
  [
    [...TARGET, '--over', 'cluster.gpus=0:4'],
    12,
    /E_CONFIG_VALUE: --over cluster\.gpus=0: must be at least 1/,
  ],
  [
    [...TARGET, '--over', 'cluster.gpus=1:4', '--set', 'cluster.gpus=[{ kind: t4, count: 1 }]'],
    2,
    /E_USAGE: --over cluster\.gpus: a list: name an entry, as cluster\.gpus\.KIND does/,
  ],
  [
    [...TARGET, '--over', 'policy.scheduleAhead=1ms:9ms', '--set', 'policy.kind=fifo'],
    11,
    /E_CONFIG_KEY: --over policy\.scheduleAhead=1ms:9ms: fifo has no scheduleAhead/,
  ],
  [[...GPUS, '--junit', '/dev/null/p.xml'], 22, /E_FILE_WRITE: \/dev\/null\/p\.xml: cannot be written/],
  [
    [...TARGET, '--over', 'slo=1ms:9ms', '--prefer', 'mid'],
    2,
    /--prefer "mid": must be one of "low", "high"/,
  ],
])('%j is one line before anything runs', async (flags, exit, message) => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(
    words`plan ${small(dir)} ${ONE_THREAD} ${flags} --out ${out}`,
  );
  expect(stderr).toMatch(message);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
  expect(existsSync(out)).toBe(false);
});

function small(dir: string): string {
  return writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
}

const RATES = ['--over', 'workload.rate=50/s:4000/s', '--set', 'slo=25ms', '--set', 'workload.duration=2s'];

test('says the warning before the end of the range, a line for each target, and writes files for CI', async () => {
  const dir = tempDir();
  const junit = join(dir, 'plan.xml');
  const targets = ['--target', 'executedP90<25ms', '--target', 'executedP99.25<1h'];
  const flags = words`${targets} ${RATES} --seeds 1 --junit ${junit} --out ${join(dir, 'plan')} --quiet`;
  const { status, stdout } = await runCli(['plan', small(dir), ...ONE_THREAD, ...flags]);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /\n\nThe range does not bound the answer: at its upper end, .*\n✓ executedP90<25ms: [\d.]+ ms at workload\.rate 4000\/s, [\d.]+ ms below 25 ms\n✓ executedP99\.25<1h: .*\n/,
  );
  expect(stdout).not.toMatch(/highest/i);
  expect(readFileSync(junit, 'utf8')).toContain('tests="2" failures="0" errors="0"');
  const page = readFileSync(join(dir, 'plan', 'plan.html'), 'utf8');
  expect(page).toMatch(/<h1>The range does not bound the answer: /);
  expect(stdout).toMatch(/ in time +meets$/m);
  expect(page).not.toMatch(/highest/i);
});

test('a plan of a replayed log runs each value once, and its interval comes from the log', async () => {
  const dir = tempDir();
  const rows = Array.from(
    { length: 2000 },
    (_, i) => `${i * 1_000_000 + (i % 200 < 100 ? 0 : 40_000_000)},${i % 15},25000000`,
  ).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  writeIn(dir, 'log.csv', `arrival_ns,model_id,slo_ns\n${rows.join('\n')}\n`);
  const log = 'workload: { kind: arrivals, path: log.csv }';
  const file = writeIn(dir, 'replay.yaml', SMALL_EXPERIMENT.replace(/^workload:.*$/m, log));
  const plan = ['plan', file, '--over', 'cluster.gpus=1:8', '--target', 'attainment>=0.9', '--threads', '1'];
  const { stdout, stderr } = await runCli(plan);
  expect(stderr).toMatch(/^seed 1: 8 candidate values/);
  expect(stdout).toMatch(/^ +1 +\d+\.\d\d % ± \d+\.\d\d +no$/m);
  expect(stdout).toMatch(/^policy clockwork; ±: 95 % confidence over time slices of the run$/m);
  expect(stdout).not.toMatch(/more seeds|± 0\.00/);
  const { tried, seeds } = JSON.parse((await runOk([...plan, '--json'])).stdout);
  expect(seeds).toEqual([1, 2, 3]);
  for (const one of tried) {
    expect(one).toMatchObject({ isReplay: true, figures: [{ values: [expect.any(Number)] }] });
  }
});

test('with --survive 1, the answer meets its targets after the loss of any one GPU, and no smaller one does', async () => {
  const dir = tempDir();
  const kinds =
    'cluster.gpus=[{ kind: a, count: 1, price: 2/h }, { kind: b, count: 1, price: 1/h, speed: 0.5 }]';
  const target = words`--target attainment>=0.9 --minimize cost --set ${kinds} --set workload.rate=150/s`;
  const over = words`--over cluster.gpus.a=0:2,cluster.gpus.b=0:3 --survive 1`;
  const flags = words`plan ${small(dir)} ${ONE_THREAD} ${target} ${over} --quiet`;
  const { stdout } = await runCli([...flags, '--json']);
  const plan = JSON.parse(stdout) as Plan;
  expect(plan.headline).toContain('attainment>=0.9 even if any one GPU is lost: ');
  const shares = async (set: readonly string[]) => {
    const seeds = [1, 2, 3].map(async (seed) => {
      const all = ['workload.rate=150/s', kinds, ...set, `seed=${seed}`].flatMap((one) => ['--set', one]);
      const run = await runCli(['simulate', small(dir), ...all, '--json', '--quiet']);
      return (JSON.parse(run.stdout) as { attainment: number }).attainment;
    });
    const all = await Promise.all(seeds);
    return all.reduce((sum, share) => sum + share, 0) / all.length;
  };
  for (const { gpus, settings, meets, figures } of plan.tried) {
    expect(gpus!.a! + gpus!.b!).toBeGreaterThan(1);
    const first = [...(gpus!.a! > 0 ? [0] : []), ...(gpus!.b! > 0 ? [gpus!.a!] : [])];
    const lost = (gpu: number) => [
      ...settings,
      `cluster.failures=[{ at: 200ms, gpu: ${gpu}, for: forever }]`,
      'warmup=200ms',
    ];
    const whole = await shares(settings);
    const after = await Promise.all(first.map((gpu) => shares(lost(gpu))));
    const { mean, low } = figures[0]!.estimate!;
    if (meets === 'yes') expect(low).toBeGreaterThanOrEqual(0.9);
    const isWhole = Math.abs(mean - whole) < 1e-12;
    expect(isWhole || after.some((share) => Math.abs(mean - share) < 1e-12)).toBe(true);
    if (!isWhole) expect(mean).toBeCloseTo(Math.min(...after), 12);
  }
  expect(plan.tried.filter(({ meets }) => meets === 'yes')[0]!.value).toBe(plan.answer);
});
