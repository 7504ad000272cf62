import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type FleetFixture, fleetsFixture, runFixture, sweepFixture } from '../../report/fixtures.js';
import { matrixFixture } from '../../report/policies/fixtures.js';
import { runCli, tempDir, writeIn } from '../run-cli.js';

const dir = tempDir();

beforeAll(() => {
  const runs = {
    simulated: runFixture({ sloMs: 50, goodputRps: 480 }),
    live: { ...runFixture({ sloMs: 50, goodputRps: 400 }), overrides: ['policy.kind=fifo'] },
    seed7: runFixture({ sloMs: 50, goodputRps: 480, seed: 7 }),
  };
  for (const [name, run] of Object.entries(runs)) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, 'run.json'), JSON.stringify(run));
  }
  mkdirSync(join(dir, 'swept'));
  mkdirSync(join(dir, 'matrix'));
  writeIn(join(dir, 'matrix'), 'results.json', JSON.stringify(matrixFixture()));
  const [reactive, fixed] = fleetsFixture(FLEETS).cells;
  for (const [name, cell] of Object.entries({ reactive, fixed })) {
    if (cell?.status !== 'done') continue;
    const { summary } = cell.result;
    mkdirSync(join(dir, name));
    const run = { ...runs.simulated, ...cell.result, summary: { ...runs.simulated.summary, ...summary } };
    writeIn(join(dir, name), 'run.json', JSON.stringify(run));
  }
  writeIn(join(dir, 'swept'), 'results.json', JSON.stringify(sweepFixture({ aheadMs: [5], slosMs: [10] })));
});

const FLEETS: Readonly<Record<string, FleetFixture>> = {
  reactive: { scaler: 'reactive', gpus: 5, attainment: 0.992 },
  '8 GPUs': { gpus: 8, attainment: 0.995 },
};

const compare = (...args: string[]) => runCli(['compare', ...args], { cwd: dir });

test('a tolerance that is not met gives exit status 3, after the table', async () => {
  const { status, stdout, stderr } = await compare('simulated', 'live', '--tolerance', 'goodputRps=3%');
  expect(status).toBe(3);
  expect(stdout).toMatch(/^goodputRps=3%: not met/m);
  expect(stderr).toMatch(/^escapement: E_THRESHOLD: goodputRps=3%: not met, goodputRps of live is /);
});

test('shows what the fleets of single runs paid for', async () => {
  const { stdout } = await compare('reactive', 'fixed');
  expect(stdout).toMatch(/^GPU-hours +5 h +8 h +\+3 h/m);
  expect(stdout).toMatch(/^cost per hour +1\.25 +2\.00 /m);
});

test.each([
  [['simulated'], 2, /^escapement: E_USAGE: compare simulated: name another run/],
  [['simulated', 'nowhere'], 36, /^escapement: E_RESULTS: nowhere: folder does not exist/],
  [['simulated', 'swept'], 36, /^escapement: E_RESULTS: swept: holds a sweep, which is compared alone/],
  [
    ['swept'],
    36,
    /^escapement: E_RESULTS: swept: ran clockwork only; compare needs a sweep that varies policy.kind/,
  ],
  [['matrix', '--tolerance', 'p99=1%'], 2, /^escapement: E_USAGE: --tolerance applies to single runs/],
  [['simulated', 'live', '--tolerance', 'p99'], 2, /^escapement: E_USAGE: --tolerance 'p99'/],
  [['simulated', 'live', '--html', 'simulated/run.json/x.html'], 22, /^escapement: E_FILE_WRITE: /],
])('%j is refused', async (args, code, message) => {
  const { status, stderr } = await compare(...args);
  expect([status, stderr]).toEqual([code, expect.stringMatching(message)]);
});
