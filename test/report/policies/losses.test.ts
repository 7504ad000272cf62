import { expect, it } from 'vitest';
import { lossesOf } from '../../../src/report/policies/losses.js';

/** A cell with two policies: ours is the first, and ranked as given. */
function cell(label: string, shares: readonly [number, number], rank: number) {
  const top = shares[1] > shares[0] ? 1 : 0;
  return {
    label,
    results: shares.map((mean) => ({ share: { mean } })),
    ranking: { ranks: [rank, 1], top, behind: shares.map((share) => Math.max(...shares) - share) },
  };
}

it('losses are the cells in which another policy is better, the greatest first', () => {
  const cells = [
    cell('a little behind', [0.8, 0.9], 2),
    cell('ahead', [0.9, 0.8], 1),
    cell('far behind', [0.4, 0.9], 2),
    cell('behind, and in doubt', [0.85, 0.86], 1),
  ];
  const policies = [{ name: 'ours' }, { name: 'other' }];
  const losses = lossesOf({ cells, policies, ours: 0 } as never);
  expect(losses.map((loss) => [loss.cell, loss.policy])).toEqual([
    ['far behind', 'other'],
    ['a little behind', 'other'],
  ]);
  expect(losses[0]?.behind).toBeCloseTo(0.5);
  expect(lossesOf({ cells, policies, ours: null } as never)).toEqual([]);
});
