import { describe, expect, it } from 'vitest';
import { ClassWeights } from '../../../src/policies/escapement/class-weights.js';

const MS = 1e6;

/** The second of two classes has a share of a half. `sent` says what an INFER of 10 ms holds of each, and what waits. */
function weights() {
  const made = new ClassWeights([
    { name: 'gold', weight: 10, share: 0 },
    { name: 'batch-jobs', weight: 0.1, share: 0.5 },
  ]);
  const sent = (inBatch: readonly number[], waits: readonly number[]) =>
    made.sent(10 * MS, Int32Array.from(inBatch), Int32Array.from(waits));
  return { sent, goesFirst: () => made.weight[1] > made.weight[0] };
}

describe('a guaranteed share', () => {
  it('is owed while requests of its class wait', () => {
    const { sent, goesFirst } = weights();
    expect(goesFirst()).toBe(false);
    sent([1, 0], [0, 1]);
    expect(goesFirst()).toBe(true);
    sent([0, 1], [1, 0]);
    expect(goesFirst()).toBe(false);
  });

  it('is owed again soon, whatever the class got while others left room', () => {
    const { sent, goesFirst } = weights();
    for (let i = 0; i < 100; i++) sent([0, 1], [0, 1]);
    // It never owes more than its last INFER, 10 ms, of which each INFER of others pays 5.
    sent([1, 0], [0, 1]);
    sent([1, 0], [0, 1]);
    expect(goesFirst()).toBe(false);
    sent([1, 0], [0, 1]);
    expect(goesFirst()).toBe(true);
  });
});
