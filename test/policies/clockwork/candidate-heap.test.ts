import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CandidateHeap } from '../../../src/policies/clockwork/candidate-heap.js';

const MODELS = 5;

interface Candidate {
  readonly priority: number;
  readonly batchIndex: number;
  readonly model: number;
}

describe('CandidateHeap', () => {
  it('gives candidates by priority, then batch size, then model, like sorting', () => {
    const candidate = fc.record({
      priority: fc.integer({ min: -5, max: 5 }),
      batchIndex: fc.nat(3),
      model: fc.nat(MODELS - 1),
    });
    const step = fc.oneof(
      { weight: 3, arbitrary: candidate },
      { weight: 1, arbitrary: fc.constant('pop' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const heap = new CandidateHeap(MODELS);
        const sorted: Candidate[] = [];
        for (const step of steps) {
          if (step !== 'pop') {
            heap.push(step.priority, step.batchIndex, step.model);
            sorted.push(step);
            sorted.sort(
              (a, b) => a.priority - b.priority || a.batchIndex - b.batchIndex || a.model - b.model,
            );
          } else if (sorted.length > 0) {
            heap.pop();
            sorted.shift();
          }
          expect(heap.size).toBe(sorted.length);
          if (sorted.length === 0) continue;
          expect([heap.topBatchIndex, heap.topModel]).toEqual([sorted[0].batchIndex, sorted[0].model]);
        }
      }),
    );
  });
});
