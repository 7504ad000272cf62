import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { type CellMap, cellMapSchema, overrideOf } from '../../../src/run/cells/cell-map.js';
import type { CellsResult } from '../../../src/run/cells/cells-result.js';
import { runCli, runOk, SMALL_EXPERIMENT, tempDir, writeIn } from '../run-cli.js';

/** Four GPUs for 15 models, of which the first gets most requests. */
const CLUSTER = `${SMALL_EXPERIMENT.replace('gpus: 1', 'gpus: 4').replace('rate: 400/s, duration: 2s', 'rate: 2400/s, duration: 2s, popularity: { kind: zipf, s: 3 }')}`;
const FAST = ['--threads', '1', '--seeds', '1,2', '--quiet'];

test('splits models and GPUs, shows one cluster against the cells, and writes the map', async () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const { stdout } = await runOk(['plan', cluster(dir), '--cells', '2', ...FAST, '--out', out]);
  expect(stdout).toMatch(/^policy clockwork, 15 models that keep \d\.\d of 4 GPUs busy\n/);
  expect(stdout).toMatch(/^cells {2}GPUs each +attainment .* against 1$/m);
  expect(stdout).toMatch(/^ +1 +4 +[\d.]+ %/m);
  expect(stdout).toMatch(/^ +2 +2 +[\d.]+ % .*[+−][\d.]+ pp ± [\d.]+$/m);
  expect(stdout).toMatch(/^cell-1 +0:2 +\d+ +[\d.]+ %/m);
  expect(stdout).toMatch(
    /^2 cells answer [\d.]+ pp ± [\d.]+ (more|fewer) requests in time than one controller$/m,
  );
  expect(stdout).toContain('1 model is too much for one cell, and in several: model-0 (2)');
  expect(stdout).toContain(`map: ${join(out, 'cells.json')}\nreport: ${join(out, 'plan.html')}\n`);
  const map = mapIn(out);
  expect(map.cells.map(({ gpus }) => gpus)).toEqual(['0:2', '2:4']);
  const names = map.cells.flatMap(({ models }) => models.map(({ name }) => name));
  expect(new Set(names).size).toBe(15);
  expect(names.filter((name) => name === 'model-0')).toHaveLength(2);
  for (const { loadShare } of map.cells) expect(loadShare).toBeCloseTo(0.5, 1);
  const page = readFileSync(join(out, 'plan.html'), 'utf8');
  expect(page).toContain('<svg');
  expect(page).toContain('escapement plan experiment.yaml');
  expect(page).toContain('--cells 2');
});

test('the cells together get the requests of the cluster, and a cell of the map can be simulated by itself', async () => {
  const dir = tempDir();
  const plan = await jsonOf(['plan', cluster(dir), '--cells', '2', ...FAST]);
  const [whole] = plan.whole;
  const [split] = plan.splits;
  const [one, two] = split!.byCell.map(([first]) => first!);
  expect(one!.offeredRps + two!.offeredRps).toBeCloseTo(whole!.offeredRps, 9);
  expect(split!.figures[0]!.goodputRps).toBeCloseTo(one!.goodputRps + two!.goodputRps, 9);
  const cell = ['--set', overrideOf(split!.map.cells[1]!)];
  const summary = JSON.parse((await runOk(['simulate', cluster(dir), '--json', ...cell])).stdout);
  expect(summary.goodputRps).toBe(two!.goodputRps);
  expect(summary.offeredLatencyMs.p99).toBe(two!.p99Ms);
});

test('gives the same bytes with one thread and with three, and reuses finished runs', async () => {
  const dir = tempDir();
  const plan = (out: string, ...flags: string[]) => [
    'plan',
    cluster(dir),
    '--cells',
    '2,4',
    '--seeds',
    '1',
    '--out',
    join(dir, out),
    ...flags,
  ];
  await runOk(plan('one', '--threads', '1'));
  await runOk(plan('three', '--threads', '3'));
  for (const name of ['plan.json', 'plan.html', 'cells.json']) {
    expect(readFileSync(join(dir, 'three', name)).equals(readFileSync(join(dir, 'one', name)))).toBe(true);
  }
  const { stderr } = await runCli(plan('one', '--threads', '1', '--set', 'name=other'));
  expect(stderr).toContain('7 finished runs were reused');
});

test('run again with its map, it moves few models', async () => {
  const dir = tempDir();
  const map = join(dir, 'map.json');
  const args = ['plan', cluster(dir), '--cells', '2', '--threads', '1', '--set', 'workload.popularity.s=1'];
  await runOk([...args, '--seeds', '1', '--map', map]);
  const first = JSON.parse(readFileSync(map, 'utf8')) as CellMap;
  const same = await runOk([...args, '--seeds', '1', '--from', map, '--map', map]);
  expect(same.stdout).toContain('note: with 2 cells, no model of the map that is in use moves');
  expect(JSON.parse(readFileSync(map, 'utf8'))).toEqual(first);
  const other = await jsonOf([...args, '--seeds', '2', '--from', map, '--set', 'workload.popularity.s=1.3']);
  expect(other.splits[0]!.moves!.length).toBeLessThan(5);
});

describe('with targets, the map is', () => {
  it('that of the most cells that meet them', async () => {
    const dir = tempDir();
    const map = join(dir, 'map.json');
    const target = ['--target', 'attainment>=0.01', '--map', map];
    const { stdout } = await runOk(['plan', cluster(dir), '--cells', '4,2,2', ...FAST, ...target]);
    expect(stdout).toMatch(
      /^Most cells with attainment>=0\.01: 4, which answer [\d.]+ pp ± [\d.]+ (?:more|fewer) requests in time/m,
    );
    expect(stdout).toMatch(/^✓ attainment>=0\.01: [\d.]+ % .* with 4 cells$/m);
    expect(cellMapSchema.parse(JSON.parse(readFileSync(map, 'utf8'))).cells).toHaveLength(4);
  });

  it('not written where none meets them', async () => {
    const dir = tempDir();
    const out = join(dir, 'out');
    const target = ['--target', 'p99<1us', '--out', out];
    const { status, stderr } = await runCli(['plan', cluster(dir), '--cells', '2', ...FAST, ...target]);
    expect(status).toBe(3);
    expect(stderr).toContain('No number of cells meets p99<1us');
    expect(existsSync(join(out, 'cells.json'))).toBe(false);
    expect(existsSync(join(out, 'plan.json'))).toBe(true);
  });
});

it.each([
  [['--cells', '1'], '--cells 1: write how many cells, 2 to 1000'],
  [['--cells', '2,x'], '--cells 2,x: write how many cells'],
  [['--cells', '5'], '--cells 5: the cluster has only 4 GPUs'],
  [['--cells', '2', '--over', 'slo=1ms:2ms'], '--cells searches nothing: leave out --over'],
  [['--cells', '2', '--set', 'cell={ gpus: 0:1, models: [model-0] }'], 'leave out the key cell'],
  [['--cells', '2', '--target', 'executedP99<1s'], 'with --cells, targets are on attainment'],
  [['--from', 'x.json', '--over', 'slo=1ms:2ms'], '--from needs --cells'],
  [['--map', 'x.json', '--over', 'slo=1ms:2ms'], '--map needs --cells'],
])('refuses %j', async (flags, what) => {
  const { status, stderr } = await runCli(['plan', cluster(tempDir()), ...flags]);
  expect(status).toBe(2);
  expect(stderr).toContain(what);
});

it('refuses more cells than models, where none has a load that could be split', async () => {
  const few = ['--set', 'models.copies=2', '--set', 'slo=1ms'];
  const { status, stderr } = await runCli(['plan', cluster(tempDir()), '--cells', '4', ...few]);
  expect(status).toBe(2);
  expect(stderr).toContain('--cells 4: 2 models cannot be dealt to so many cells; give at most 2');
});

function cluster(dir: string): string {
  return writeIn(dir, 'cluster.yaml', CLUSTER);
}

function mapIn(out: string): CellMap {
  return cellMapSchema.parse(JSON.parse(readFileSync(join(out, 'cells.json'), 'utf8')));
}

async function jsonOf(args: readonly string[]): Promise<CellsResult> {
  return JSON.parse((await runOk([...args, '--json'])).stdout) as CellsResult;
}
