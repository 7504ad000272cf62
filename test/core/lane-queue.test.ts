import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INFER, LOAD } from '../../src/core/action.js';
import { LaneQueue } from '../../src/core/lane-queue.js';
import { action } from './fixtures.js';

describe('LaneQueue', () => {
  it('gives actions by earliest start, first come first served where that is equal', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.nat(20) },
      { weight: 1, arbitrary: fc.constant('shift' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
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

  it('gives up the INFERs in order, and keeps the others in theirs', () => {
    const queue = new LaneQueue();
    const kinds = [INFER, LOAD, INFER, LOAD, INFER] as const;
    for (const [id, kind] of kinds.entries()) queue.push(action(id, kind), 10 - id, 20 + id);
    expect(queue.removeInfers().map(({ id }) => id)).toEqual([4, 2, 0]);
    expect([queue.size, queue.headEarliestNs, queue.headLatestNs]).toEqual([2, 7, 23]);
    expect([queue.shift().id, queue.shift().id]).toEqual([3, 1]);
    expect(queue.removeInfers()).toEqual([]);
  });
});
