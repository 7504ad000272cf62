import { expect, it } from 'vitest';
import { buildGrid } from '../../../src/run/sweep/grid.js';
import type { PlannedCell } from '../../../src/run/sweep/plan.js';
import { partOf, unitsOf } from '../../../src/run/sweep/shard.js';
import { cellTask } from './fixtures.js';

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

it('depends on the keys alone, not on their order in the grid', () => {
  const planned = plan((i) => `cell-${i}`);
  const keys = (from: readonly PlannedCell[]) => unitsOf(from).map(({ task }) => task.key);
  expect(keys([...planned].reverse())).toEqual(keys(planned));
});

it('runs cells of the same result once, and none that was refused', () => {
  const planned = plan((i) => `cell-${i % 2}`);
  const refused: PlannedCell = {
    ...{ cell: planned[0]!.cell, task: null },
    refused: { status: 'failed', code: 'E_X', message: 'no room' },
  };
  expect(unitsOf([refused, ...planned]).filter(({ job }) => job === 'runCell')).toHaveLength(2);
});
