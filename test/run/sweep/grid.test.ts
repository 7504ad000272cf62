import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildGrid, cellOverrides } from '../../../src/run/sweep/plan-sweep.js';

test('the first key varies slowest and seeds fastest', () => {
  const grid = buildGrid(
    [
      { key: 'slo', values: ['10ms', '25ms'] },
      { key: 'policy.kind', values: ['clockwork', 'fifo'] },
    ],
    [1, 2],
  );
  expect(grid.map(({ id }) => id)).toEqual([
    'slo=10ms policy.kind=clockwork seed=1',
    'slo=10ms policy.kind=clockwork seed=2',
    'slo=10ms policy.kind=fifo seed=1',
    'slo=10ms policy.kind=fifo seed=2',
    'slo=25ms policy.kind=clockwork seed=1',
    'slo=25ms policy.kind=clockwork seed=2',
    'slo=25ms policy.kind=fifo seed=1',
    'slo=25ms policy.kind=fifo seed=2',
  ]);
});

test('the kind of the policy comes after its options, so that it drops those that it does not have', () => {
  const vary = [
    { key: 'policy.kind', values: ['fifo'] },
    { key: 'policy.scheduleAhead', values: ['5ms'] },
  ];
  expect(buildGrid(vary, [1]).map((cell) => cellOverrides(cell))).toEqual([
    ['policy.scheduleAhead=5ms', 'policy.kind=fifo', 'seed=1'],
  ]);
});

test('cases come first, then --set, which wins over them, then what varies; kinds last', () => {
  const cases = [
    {
      key: 'setting',
      cases: [
        { name: 'small', path: [], overrides: ['cluster.gpus=1'] },
        { name: 'large', path: [], overrides: ['cluster.gpus=8', 'models.copies=60'] },
      ],
    },
  ];
  const vary = [
    { key: 'setting', values: ['small', 'large'] },
    { key: 'workload.kind', values: ['gamma'] },
    { key: 'slo', values: ['5ms'] },
  ];
  const grid = buildGrid(vary, [1]);
  expect(grid.map(({ id }) => id)[1]).toBe('setting=large workload.kind=gamma slo=5ms seed=1');
  expect(grid.map((cell) => cellOverrides(cell, { cases, overrides: ['models.copies=2'] }))).toEqual([
    ['cluster.gpus=1', 'models.copies=2', 'slo=5ms', 'workload.kind=gamma', 'seed=1'],
    ['cluster.gpus=8', 'models.copies=60', 'models.copies=2', 'slo=5ms', 'workload.kind=gamma', 'seed=1'],
  ]);
});

test('only the first repetition has a timeline', () => {
  const cells = buildGrid([{ key: 'slo', values: ['10ms', '25ms'] }], [4, 2]);
  expect(cells.map((cell) => cellOverrides(cell).includes('output.timeline=false'))).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test('every combination appears once', () => {
  const values = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
  const seeds = fc.uniqueArray(fc.nat(), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(values, values, seeds, (a, b, seedList) => {
      const grid = buildGrid(
        [
          { key: 'a', values: a },
          { key: 'b', values: b },
        ],
        seedList,
      );
      const names = grid.map((cell) => JSON.stringify([cell.values.a, cell.values.b, cell.seed]));
      expect(names).toHaveLength(a.length * b.length * seedList.length);
      expect(new Set(names).size).toBe(names.length);
    }),
  );
});
