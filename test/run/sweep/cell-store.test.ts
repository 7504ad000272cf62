import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CellStore } from '../../../src/run/sweep/cell-store.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellResult, cellTask } from './fixtures.js';

it('gives a result the names that its experiment and plugin have now, with its fields in the order as stored', () => {
  const store = new CellStore(tempDir(), true);
  const plugin = { file: 'mine.js', digest: '0123456789abcdef' };
  const { timeline, ...rest } = cellResult(50);
  const kept = { ...rest, plugin, timeline };
  store.write('one', JSON.stringify(kept));
  expect(JSON.stringify(store.read({ ...cellTask('one'), plugin: 'mine.js' }))).toBe(JSON.stringify(kept));
  const renamed = store.read({ ...cellTask('one'), name: 'copy', plugin: '../mine.js' });
  const expected = {
    ...{ ...kept, summary: { ...kept.summary, name: 'copy' } },
    plugin: { ...plugin, file: '../mine.js' },
  };
  expect(JSON.stringify(renamed)).toBe(JSON.stringify(expected));
});

it('finds what earlier programs stored under another name', () => {
  const dir = tempDir();
  const store = new CellStore(dir, true);
  const task = cellTask('one');
  store.write('one', JSON.stringify(cellResult(50)));
  renameSync(join(dir, 'cells', 'one.json'), join(dir, 'cells', 'former-one.json'));
  expect(store.read(task)).toEqual(cellResult(50));
  expect(new CellStore(dir, false).read(task)).toBeNull();
});
