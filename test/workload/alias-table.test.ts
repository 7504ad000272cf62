import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AliasTable } from '../../src/workload/alias-table.js';

test('draws every index in proportion to its weight', () => {
  const weights = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      weights.filter((some) => some.some((weight) => weight > 0)),
      (some) => {
        const table = new AliasTable(some.length);
        table.build(some, 0, some.length);
        const draws = 20_000;
        const drawn = new Array<number>(some.length).fill(0);
        for (let k = 0; k < draws; k++) drawn[table.pick((k + 0.5) / draws)]++;
        const total = some.reduce((sum, weight) => sum + weight, 0);
        some.forEach((weight, i) => {
          expect(Math.abs(drawn[i] / draws - weight / total)).toBeLessThan(0.005);
        });
      },
    ),
  );
});

test('is rebuilt in place from a part of an array', () => {
  const table = new AliasTable(3);
  table.build([1, 1, 1], 0, 3);
  table.build([9, 0, 5], 1, 2);
  expect([0, 0.3, 0.6, 0.999].map((uniform) => table.pick(uniform))).toEqual([1, 1, 1, 1]);
});
