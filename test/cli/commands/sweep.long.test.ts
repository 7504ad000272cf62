import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, words, writeIn } from '../run-cli.js';

/** A thread takes longer to start than these simulations to run. */
const ONE_THREAD = ['--threads', '1'];
const VARY = ['--vary', 'slo=10ms,25ms', '--vary', 'policy.scheduleAhead=2ms:10ms:4ms', '--seeds', '1,2'];

test('results are the same bytes with one thread, with two, and after an interruption', async () => {
  const dir = tempDir();
  const sweep = (out: string, ...flags: string[]) =>
    words`sweep ${small(dir)} ${VARY} --out ${join(dir, out)} ${flags}`;
  await runOk(sweep('one', '--threads', '1'));
  await runOk(sweep('two', '--threads', '2'));
  const stopped = await spawnCli(sweep('stopped', '--threads', '1'), {
    interruptWhen: (stderr) => /sweep \d+%/.test(stderr),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.stderr).toMatch(/interrupted: \d+ of 12 cells are kept/);
  expect(existsSync(join(dir, 'stopped', 'results.json'))).toBe(false);
  const kept = readdirSync(join(dir, 'stopped', 'cells'));
  expect(kept.length).toBeGreaterThan(0);
  const resumed = await runCli(sweep('stopped', '--threads', '2'));
  expect(resumed.stderr).toContain(`${kept.length} finished cells were reused`);
  for (const name of ['results.json', 'results.csv']) {
    const bytes = readFileSync(join(dir, 'one', name));
    expect(readFileSync(join(dir, 'two', name)).equals(bytes)).toBe(true);
    expect(readFileSync(join(dir, 'stopped', name)).equals(bytes)).toBe(true);
  }
});

test('finished cells are used again only while the experiment says the same', async () => {
  const dir = tempDir();
  const file = small(dir);
  const args = ['sweep', file, ...ONE_THREAD, '--seeds', '1,2', '--out', join(dir, 'out')];
  await runOk(args);
  expect((await runCli(args)).stderr).toContain('2 finished cells were reused');
  writeFileSync(file, `# Another comment is no other experiment.\n${SMALL_EXPERIMENT}`);
  expect((await runCli(args)).stderr).toContain('2 finished cells were reused');
  writeFileSync(file, SMALL_EXPERIMENT.replace('400/s', '401/s'));
  expect((await runCli(args)).stderr).not.toContain('finished cells were reused');
  expect((await runCli([...args, '--fresh'])).stderr).not.toContain('finished cells were reused');
});

test('a cell that cannot run is reported, and loses no other', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stdout, stderr } = await runCli(
    words`sweep ${small(dir)} ${ONE_THREAD} --vary cluster.pages=2,200 --out ${out}`,
  );
  expect(status).toBe(4);
  expect(stdout).toMatch(/^cache pages 2 +1 +E_MODEL_TOO_LARGE /m);
  expect(stderr).toMatch(/E_CELLS_FAILED: 1 of 2 cells failed/);
  expect(stdout).toContain('report: ');
  const { cells } = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8'));
  expect(cells.map(({ status }: { status: string }) => status)).toEqual(['failed', 'done']);
});

test.each([
  ['slo', 2, /write key=values/],
  ['slo=10ms,banana', 12, /--vary slo=banana/],
  ['slo=10ms,20', 13, /--vary slo=20: .*no unit/],
  ['policy.scheduleAhaed=1ms,2ms', 11, /did you mean "scheduleAhead"/],
  ['slo=20ms:10ms:1ms', 2, /--vary slo: .*not a range/],
  ['seed=1,2', 2, /--seeds/],
])('--vary %s fails before anything runs', async (vary, exit, message) => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { status, stderr } = await runCli(['sweep', small(dir), ...ONE_THREAD, '--vary', vary, '--out', out]);
  expect(stderr).toMatch(message);
  expect(status).toBe(exit);
  expect(existsSync(out)).toBe(false);
});

function small(dir: string): string {
  return writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
}

test('thresholds are checked for every cell, of any percentile, and cells that were kept count', async () => {
  const dir = tempDir();
  const junit = join(dir, 'junit.xml');
  const sweep = (...thresholds: string[]) => [
    ...words`sweep ${small(dir)} ${ONE_THREAD} --vary workload.rate=100/s,3000/s --seeds 1,2 --quiet --junit ${junit}`,
    ...['--out', join(dir, 'out'), ...thresholds.flatMap((threshold) => ['--threshold', threshold])],
  ];
  const missed = await runCli(sweep('p92.5<1h', 'executedP92.5<1h'));
  expect(missed.status).toBe(3);
  expect(missed.stdout).toMatch(
    /^✗ p92\.5<1h: missed in 2 of 4 runs\n✗ p92\.5<1h: never: .* with workload\.rate=3000\/s seed=1\n✗ .* seed=2\n✓ executedP92\.5<1h: in all 4 runs\n/m,
  );
  expect(missed.stderr).toBe('escapement: E_THRESHOLD: p92.5<1h: missed in 2 runs\n');
  expect(readFileSync(junit, 'utf8')).toContain('tests="8" failures="2" errors="0"');
  // Kept cells have that percentile and no other.
  expect((await runCli(sweep('p92.5<1h'))).stdout).toContain('missed in 2 of 4 runs');
  const json = JSON.parse((await runCli([...sweep('p92.5<1h'), '--json'])).stdout);
  expect(json.thresholds[2]).toMatchObject({
    run: 'workload.rate=3000/s seed=1',
    ...{ threshold: 'p92.5<1h', ok: false, actual: null },
  });
  const other = await runCli(sweep('p91.5<1h'));
  expect([other.status, other.stdout]).toEqual([
    3,
    expect.stringContaining('✗ p91.5<1h: missed in 2 of 4 runs'),
  ]);
});
