import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LaneQueue } from '../../src/core/lane-queue.js';
import { action } from './fixtures.js';

describe('LaneQueue', () => {
  it('gives actions by earliest start, first come first served where that is equal', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.nat(20) },
      { weight: 1, arbitrary: fc.constant('shift' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const queue = new LaneQueue();
        const waiting: { id: number; earliestNs: number }[] = [];
        for (const [id, step] of steps.entries()) {
          if (step !== 'shift') {
            queue.push(action(id), step, step + id);
            waiting.push({ id, earliestNs: step });
            waiting.sort((a, b) => a.earliestNs - b.earliestNs);
          } else if (waiting.length > 0) {
            const first = waiting.shift();
            expect(queue.headLatestNs).toBe((first?.earliestNs ?? 0) + (first?.id ?? 0));
            expect(queue.shift().id).toBe(first?.id);
          }
          expect(queue.size).toBe(waiting.length);
          expect(queue.headEarliestNs).toBe(waiting[0]?.earliestNs ?? Number.POSITIVE_INFINITY);
        }
      }),
    );
  });
});
