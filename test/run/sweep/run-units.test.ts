import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CellStore } from '../../../src/run/sweep/cell-store.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import type { CellOutcome } from '../../../src/run/sweep/run-cell.js';
import { runUnits } from '../../../src/run/sweep/run-units.js';
import type { Unit } from '../../../src/run/sweep/shard.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellResult, cellTask } from './fixtures.js';

const UNITS: Unit[] = ['a', 'b', 'c', 'd'].map((key) => ({ id: key, task: cellTask(key), job: 'runCell' }));

it('runs as many as it has threads, stores each, and runs none again', async () => {
  const dir = tempDir();
  const store = new CellStore(dir, true);
  const { runner, most, ran } = counting();
  await runUnits(UNITS, store, runner, 2, () => {});
  expect(most()).toBe(2);
  expect(readdirSync(join(dir, 'cells')).sort()).toEqual(['a.json', 'b.json', 'c.json', 'd.json']);
  const reused: string[] = [];
  await runUnits(UNITS, store, runner, 2, ({ id }, outcome) => outcome === 'reused' && reused.push(id));
  expect(reused.sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(ran).toHaveLength(4);
});

it('leaves out what another process has finished meanwhile', async () => {
  const store = new CellStore(tempDir(), true);
  const { runner, ran } = counting();
  await runUnits(UNITS, store, runner, 1, ({ id }) => {
    if (id === 'a') store.write('c', JSON.stringify(cellResult(1)));
  });
  expect(ran).toEqual(['a', 'b', 'd']);
});

it('goes on after a failure, of which nothing is stored', async () => {
  const store = new CellStore(tempDir(), true);
  const { runner } = counting('b');
  const outcomes: Record<string, string> = {};
  await runUnits(UNITS, store, runner, 1, ({ id }, outcome) => {
    outcomes[id] = outcome === 'reused' ? outcome : outcome.status;
  });
  expect(outcomes).toEqual({ a: 'done', b: 'failed', c: 'done', d: 'done' });
  expect(store.read(cellTask('b'))).toBeNull();
});

function counting(fail = '') {
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  const runner: CellRunner = {
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
