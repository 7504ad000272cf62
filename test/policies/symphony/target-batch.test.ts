import { describe, expect, it } from 'vitest';
import { targetBatch } from '../../../src/policies/symphony/policy.js';
import { MS } from '../policy-harness.js';

const SIZES = [1, 2, 4, 8];
/** ResNet-50 as a worked example would have it: 1 ms a request and 5 ms a batch. */
const EXEC_NS = SIZES.map((size) => (size + 5) * MS);

function target(budgetMs: number, rps: number | undefined, sizes = SIZES.length): number {
  return targetBatch({
    batchSizes: SIZES,
    sizes,
    execNs: (b) => EXEC_NS[b],
    budgetNs: budgetMs * MS,
    rps,
  });
}

describe('targetBatch', () => {
  it.each([
    { budgetMs: 26, batch: 8 },
    { budgetMs: 25, batch: 4 },
    { budgetMs: 18, batch: 4 },
    { budgetMs: 5, batch: 1 },
  ])('takes half of $budgetMs ms before a rate is known: $batch', ({ budgetMs, batch }) => {
    expect(target(budgetMs, undefined)).toBe(batch);
  });

  it('counts on a GPU that becomes free often where the rate keeps several busy', () => {
    // 8 take 13 ms, so 3000/s keep 4.9 GPUs busy: 13 · (1 + 1/4.9) = 15.7.
    expect(target(15.7, 3000)).toBe(8);
    expect(target(15.6, 3000)).toBe(4);
  });

  it('waits for as many as gather and run in time where one GPU is enough', () => {
    // 4 gather in 10 ms and take 9; 5 would gather in 12.5 and take 13.
    expect(target(19, 400)).toBe(4);
    // Two gather in 5 ms and take 7; three take 9 and gather in 7.5.
    expect(target(16, 400)).toBe(2);
  });
});
