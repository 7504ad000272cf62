import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/core/cluster.js';
import { GroupPlan } from '../../../src/policies/shepherd/group-plan.js';
import { models } from '../../core/fixtures.js';

const PERIOD_NS = 1000;
const SIZES = Int32Array.of(3, 3, 3, 3);

/** Four models of 2 pages each. */
function plan(gpus: number, pages: number): GroupPlan {
  return new GroupPlan(new Cluster({ models: models(4), gpus, pages }), SIZES, PERIOD_NS);
}

function ranges({ first, end }: GroupPlan): string[] {
  return Array.from(first, (from, model) => `${from}-${end[model] - 1}`);
}

function arrive(groups: GroupPlan, counts: readonly number[]): void {
  for (const [model, count] of counts.entries()) for (let i = 0; i < count; i++) groups.arrived(model);
}

describe('GroupPlan', () => {
  it('makes as few groups as memory allows, with GPUs in order of their numbers', () => {
    expect(ranges(plan(4, 4))).toEqual(['0-1', '2-3', '0-1', '2-3']);
    expect(ranges(plan(5, 4))).toEqual(['0-1', '2-4', '0-1', '2-4']);
  });

  it('deals by load every period; a model moves only where its group would carry too much or lacks room', () => {
    const groups = plan(2, 4);
    expect(ranges(groups)).toEqual(['0-0', '1-1', '0-0', '1-1']);
    arrive(groups, [6, 1, 5, 0]);
    expect(groups.isDue(PERIOD_NS - 1)).toBe(false);
    expect(groups.isDue(PERIOD_NS)).toBe(true);
    groups.renew(PERIOD_NS);
    // Model 0 stays, model 2 would make 11 of 12 there; it takes the room of model 3 at the other.
    expect(ranges(groups)).toEqual(['0-0', '1-1', '1-1', '0-0']);
  });

  it('deals a model to a group with a GPU that it fits on, however crowded', () => {
    // Two GPUs of 8 pages come before six of 4. The last model needs 7, and is dealt out last: no request asks for it.
    const equal = models(4);
    const unequal = equal.map((each, i) => ({ ...each, otherKinds: [each], pages: i === 3 ? 7 : 2 }));
    const kinds = [
      { gpus: 2, pages: 8 },
      { gpus: 6, pages: 4 },
    ];
    const groups = new GroupPlan(
      new Cluster({ models: unequal, gpus: 8, pages: 8, kinds }),
      SIZES,
      PERIOD_NS,
    );
    for (const [round, counts] of [[], [5, 5, 5], [9, 1, 1], [0, 0, 0, 9]].entries()) {
      arrive(groups, counts);
      if (round > 0) groups.renew(round * PERIOD_NS);
      expect(groups.first[3]).toBeLessThan(2);
    }
  });
});
