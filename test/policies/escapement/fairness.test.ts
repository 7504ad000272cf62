import { describe, expect, it } from 'vitest';
import { Fairness } from '../../../src/policies/escapement/fairness.js';

function answer(fairness: Fairness, model: number, times: number, inTime: boolean): void {
  for (let i = 0; i < times; i++) fairness.answered(model, inTime);
}

describe('Fairness', () => {
  it('favors no model while all are served, apart from what may happen', () => {
    const fairness = new Fairness(2, 0.55);
    answer(fairness, 0, 100, true);
    answer(fairness, 1, 2, false);
    expect([...fairness.favor]).toEqual([0, 0]);
    expect([...fairness.factor]).toEqual([1, 1]);
  });

  it('favors a model more and more, while it gets less than its share of the attainment of all', () => {
    const fairness = new Fairness(2, 0.55);
    let before = 0;
    answer(fairness, 0, 100, true);
    for (let failures = 1; failures <= 20; failures++) {
      fairness.answered(1, false);
      if (failures > 3) expect(fairness.favor[1]).toBeGreaterThan(before);
      before = fairness.favor[1];
    }
    expect(before).toBeGreaterThan(2);
    expect(fairness.factor[1]).toBe(Math.exp(before));
    expect(fairness.favor[0]).toBe(0);
  });

  it('takes its favor back when the model has caught up', () => {
    const fairness = new Fairness(2, 0.55);
    answer(fairness, 0, 1000, true);
    answer(fairness, 1, 80, false);
    const most = fairness.favor[1];
    expect(most).toBeGreaterThan(1);
    answer(fairness, 1, 60, true);
    expect(fairness.favor[1]).toBeLessThan(most);
    answer(fairness, 1, 300, true);
    expect(fairness.favor[1]).toBe(0);
    expect(fairness.factor[1]).toBe(1);
  });

  it('compares with what can be had: none is favored where all fare badly alike', () => {
    const fairness = new Fairness(2, 0.55);
    for (let round = 0; round < 20_000; round++) fairness.answered(round % 2, round % 20 < 4);
    expect([...fairness.favor]).toEqual([0, 0]);
  });
});
