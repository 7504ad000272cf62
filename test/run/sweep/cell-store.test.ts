import { expect, it } from 'vitest';
import { CellStore } from '../../../src/run/sweep/cell-store.js';
import { tempDir } from '../../cli/run-cli.js';
import { cellResult, cellTask } from './fixtures.js';

it('gives a result the names that its experiment and plugin have now, with its fields in the order as stored', () => {
  const store = new CellStore(tempDir(), true);
  const plugin = { file: 'mine.js', digest: '0123456789abcdef' };
  const { timeline, ...rest } = cellResult(50);
  const kept = { ...rest, plugin, timeline };
  store.write(cellTask('one'), JSON.stringify(kept));
  expect(JSON.stringify(store.read({ ...cellTask('one'), plugin: 'mine.js' }))).toBe(JSON.stringify(kept));
  const renamed = store.read({ ...cellTask('one'), name: 'copy', plugin: '../mine.js' });
  const expected = {
    ...{ ...kept, summary: { ...kept.summary, name: 'copy' } },
    plugin: { ...plugin, file: '../mine.js' },
  };
  expect(JSON.stringify(renamed)).toBe(JSON.stringify(expected));
});
