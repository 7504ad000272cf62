import { expect, it } from 'vitest';
import type { CellMap } from '../../../src/run/cells/cell-map.js';
import { cellsBefore, movesOf } from '../../../src/run/cells/moves.js';
import { mapOf } from '../../cli/cells/haproxy.js';

const BEFORE: CellMap = mapOf([
  ['a', 'b', 'c'],
  ['c', 'd'],
  ['c', 'gone'],
]);

it('moves are of models that both maps have, in other cells', () => {
  const after = mapOf([['a', 'c'], ['b', 'd', 'c'], ['new']]);
  expect(movesOf(BEFORE, after)).toEqual([
    { name: 'c', from: ['cell-1', 'cell-2', 'cell-3'], to: ['cell-1', 'cell-2'] },
    { name: 'b', from: ['cell-1'], to: ['cell-2'] },
  ]);
  expect(movesOf(BEFORE, BEFORE)).toEqual([]);
});

it('each part of a model takes one of the cells that have it, as far as there are any', () => {
  const models = ['new', 'c', 'd'].map((name) => ({ name }));
  const part = (model: number) => ({ model, from: 0, to: 1, load: new Float64Array(1), mean: 0, pages: 1 });
  const parts = [part(0), part(1), part(1), part(1), part(1), part(2)];
  expect(cellsBefore(parts, { models } as never, BEFORE, 3)).toEqual([-1, 0, 1, 2, -1, 1]);
  // With fewer cells, the last one is gone.
  expect(cellsBefore(parts, { models } as never, BEFORE, 2)).toEqual([-1, 0, 1, -1, -1, 1]);
});
