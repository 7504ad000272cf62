import { describe, expect, it } from 'vitest';
import type { CellMap } from '../../../../src/run/cells/cell-map.js';
import { routesOf } from '../../../../src/run/cells/front/routes.js';
import { failure } from '../../../config/failure.js';

/** A map of cells with these models; a slice where several have one. */
function mapOf(...cells: readonly (readonly (readonly [string, number, number] | string)[])[]): CellMap {
  return {
    ...{ version: 1, escapement: '1.2.3', name: 'test', intervalSeconds: 1 },
    cells: cells.map((models, i) => ({
      ...{
        name: `cell-${i + 1}`,
        gpus: `${i}:${i + 1}`,
        load: 1,
        loadShare: 0.5,
        peakLoad: 1,
        weightsBytes: 1,
      },
      models: models.map((model) => {
        if (typeof model === 'string') return { name: model, load: 1 };
        const [name, from, to] = model;
        return { name, load: 1, requests: [from, to] as const };
      }),
    })),
  };
}

describe('routes', () => {
  it('send a model to its cell, and one that several have to all of them', () => {
    const { homeOf, homes } = routesOf(mapOf(['a', ['b', 0, 0.5]], [['b', 0.5, 1], 'c']));
    expect([...homeOf]).toEqual([
      ['a', 'cell-1'],
      ['b', 'shared-1'],
      ['c', 'cell-2'],
    ]);
    expect(homes.get('shared-1')).toEqual([
      { cell: 'cell-1', weight: 1 },
      { cell: 'cell-2', weight: 1 },
    ]);
  });

  it('have weights in proportion to the slices, and one home for models with the same', () => {
    const map = mapOf(
      [
        ['a', 0, 0.25],
        ['b', 0, 0.25],
        ['c', 0, 0.5],
      ],
      [
        ['a', 0.25, 1],
        ['b', 0.25, 1],
        ['c', 0.5, 1],
      ],
    );
    const { homeOf, homes } = routesOf(map);
    expect([...homeOf.values()]).toEqual(['shared-1', 'shared-1', 'shared-2']);
    expect(homes.get('shared-1')!.map(({ weight }) => weight)).toEqual([85, 256]);
    // Thirds are not exact, and still even.
    const thirds = mapOf([['a', 0, 1 / 3]], [['a', 1 / 3, 2 / 3]], [['a', 2 / 3, 1]]);
    expect(
      routesOf(thirds)
        .homes.get('shared-1')!
        .map(({ weight }) => weight),
    ).toEqual([1, 1, 1]);
  });

  it.each(['two words', 'line\nbreak', 'tab\t', '#comment', 'no\u00a0break', 'bell\u0007'])(
    'are refused for %j, which a map file cannot hold',
    (name) => {
      const { code, message } = failure(() => routesOf(mapOf([name])));
      expect(code).toBe('E_RESULTS');
      expect(message).toContain(`the model ${JSON.stringify(name)} cannot be routed`);
    },
  );

  it('take any other name', () => {
    const odd = ["'", '"', '$HOME', 'a#b', '%[src]', '\\', 'ä/é', 'a{b}', '-f'];
    expect([...routesOf(mapOf(odd)).homeOf.keys()]).toEqual(odd);
  });
});
