import { expect, it } from 'vitest';
import { threadPool } from '../../../src/run/sweep/pool.js';
import type { CellTask } from '../../../src/run/sweep/run-cell.js';
import { SMALL_EXPERIMENT } from '../../cli/run-cli.js';
import { cellTask } from './fixtures.js';

const TASK: CellTask = { ...cellTask('small'), text: SMALL_EXPERIMENT };

it('can be closed while a result is under way', async () => {
  const pool = threadPool(1);
  expect((await pool.run(TASK)).status).toBe('done');
  const lost = pool.run(TASK);
  // The thread finishes, and this one has not looked at its mail when it closes the pool.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  await pool.close();
  expect(await lost).toMatchObject({ status: 'failed' });
});

it('can be closed while its threads start', async () => {
  const pool = threadPool(2);
  const lost = pool.run(TASK);
  await pool.close();
  expect(await lost).toMatchObject({ status: 'failed' });
});
