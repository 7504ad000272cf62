import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadlineQueue } from '../../../src/policies/common/deadline-queue.js';

interface Waiting {
  readonly slot: number;
  readonly deadlineNs: number;
}

/** What a queue holds, in order. */
function contents(queue: DeadlineQueue): Waiting[] {
  return Array.from({ length: queue.length }, (_, i) => ({
    slot: queue.slotAt(i),
    deadlineNs: queue.deadlineNsAt(i),
  }));
}

describe('DeadlineQueue', () => {
  it('does what a sorted array does, whatever is done to it', () => {
    const operation = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('push'), deadlineNs: fc.nat(40) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove'), which: fc.nat(30) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('take'), fromNs: fc.nat(50), most: fc.nat(8) }) },
    );
    // fast-check prints the seed of what fails.
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const queue = new DeadlineQueue();
        const literal: Waiting[] = [];
        const into = new Int32Array(8);
        let nextSlot = 0;
        for (const operation of operations) {
          if ('deadlineNs' in operation) {
            const before = literal.filter(({ deadlineNs }) => deadlineNs <= operation.deadlineNs);
            expect(queue.countBefore(operation.deadlineNs)).toBe(before.length);
            literal.push({ slot: nextSlot, deadlineNs: operation.deadlineNs });
            // Stable: who came first stays first.
            literal.sort((a, b) => a.deadlineNs - b.deadlineNs);
            queue.push(nextSlot++, operation.deadlineNs);
          } else if ('which' in operation) {
            const slot = literal[operation.which]?.slot ?? nextSlot;
            expect(queue.remove(slot)).toBe(operation.which < literal.length);
            literal.splice(operation.which, 1);
          } else {
            const before = literal.findIndex(({ deadlineNs }) => deadlineNs >= operation.fromNs);
            const from = before < 0 ? literal.length : before;
            expect(queue.firstFrom(operation.fromNs)).toBe(from);
            const taken = literal.splice(from, operation.most);
            queue.take(from, taken.length, into);
            expect([...into.subarray(0, taken.length)]).toEqual(taken.map(({ slot }) => slot));
          }
          expect(contents(queue)).toEqual(literal);
        }
      }),
      { numRuns: 300 },
    );
  });
});
