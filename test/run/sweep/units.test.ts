import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildGrid, type PlannedCell } from '../../../src/run/sweep/plan-sweep.js';
import type { CellRunner, Unit } from '../../../src/run/sweep/pool.js';
import type { CellOutcome } from '../../../src/run/sweep/run-cell.js';
import { CellStore, partOf, runUnits, unitsOf } from '../../../src/run/sweep/units.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellResult, cellTask } from './fixtures.js';

const VARY = [{ key: 'slo', values: ['10ms', '25ms', '50ms', '100ms'] }];

/** Cells of the same seed share a bound; `key` names a cell's result. */
function plan(key: (i: number) => string): PlannedCell[] {
  return buildGrid(VARY, [1, 2, 3]).map((cell, i) => ({
    cell,
    task: cellTask(key(i)),
    bound: cellTask(`bound-${cell.seed}`),
    notes: [],
  }));
}

it('deals every cell and every bound to exactly one shard, in equal numbers', () => {
  const units = unitsOf(plan((i) => `cell-${(i * 7) % 12}`));
  expect(units.map(({ task }) => task.key).sort()).toEqual(
    [...Array.from({ length: 12 }, (_, i) => `cell-${i}`), 'bound-1', 'bound-2', 'bound-3'].sort(),
  );
  for (const count of [1, 2, 4, 7, 20]) {
    const parts = Array.from({ length: count }, (_, i) => partOf(units, { index: i + 1, count }));
    const keys = parts.flat().map(({ task }) => task.key);
    expect(keys.sort()).toEqual(units.map(({ task }) => task.key).sort());
    const sizes = parts.map(({ length }) => length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  }
});

it('runs cells of the same result once, and none that was refused', () => {
  const planned = plan((i) => `cell-${i % 2}`);
  const refused: PlannedCell = {
    ...{ cell: planned[0]!.cell, task: null },
    refused: { status: 'failed', code: 'E_X', message: 'no room' },
  };
  expect(unitsOf([refused, ...planned]).filter(({ job }) => job === 'runCell')).toHaveLength(2);
});

const UNITS: Unit[] = ['a', 'b', 'c', 'd'].map((key) => ({ id: key, task: cellTask(key), job: 'runCell' }));

it('runs as many as the runner takes, stores each, and runs none again', async () => {
  const dir = tempDir();
  const { runner, most, ran } = counting(2);
  await runUnits(UNITS, new CellStore(dir, true), runner, () => {});
  expect(most()).toBe(2);
  expect(readdirSync(join(dir, 'cells')).sort()).toEqual(['a.json', 'b.json', 'c.json', 'd.json']);
  const reused: string[] = [];
  await runUnits(
    UNITS,
    new CellStore(dir, true),
    runner,
    ({ id }, found) => found.status === 'done' && found.reused && reused.push(id),
  );
  expect(reused.sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(ran).toHaveLength(4);
});

it('reuses nothing that it ran itself, also where earlier results do not count', async () => {
  const store = new CellStore(tempDir(), false);
  const { runner, ran } = counting(1);
  const reused: boolean[] = [];
  for (let round = 0; round < 2; round++)
    await runUnits(UNITS, store, runner, (_, found) => reused.push(found.status === 'done' && found.reused));
  expect(reused).toEqual(Array(8).fill(false));
  expect(ran).toHaveLength(4);
});

it('begins nothing more when a result cannot be stored', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const { runner, ran } = counting(2);
  await expect(runUnits(UNITS, new CellStore(file, true), runner, () => {})).rejects.toMatchObject({
    code: 'E_FILE_WRITE',
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(ran).toEqual(['a', 'b']);
});

function counting(width: number, fail = '') {
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  const runner: CellRunner = {
    width,
    async run({ key }): Promise<CellOutcome> {
      ran.push(key);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (key === fail) return { status: 'failed', code: 'E_TRACE_VALUE', message: 'bad row' };
      return { status: 'done', json: JSON.stringify(cellResult(1)) };
    },
    close: async () => {},
  };
  return { runner, ran, most: () => most };
}
