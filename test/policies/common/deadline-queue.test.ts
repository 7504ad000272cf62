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

function queueOf(deadlines: readonly number[]): DeadlineQueue {
  const queue = new DeadlineQueue();
  for (const [slot, deadlineNs] of deadlines.entries()) queue.push(slot, deadlineNs);
  return queue;
}

function slotsOf(queue: DeadlineQueue): number[] {
  return contents(queue).map(({ slot }) => slot);
}

describe('DeadlineQueue', () => {
  it('keeps requests by deadline, first come first served where deadlines are equal', () => {
    expect(slotsOf(queueOf([30, 10, 20, 10, 30]))).toEqual([1, 3, 2, 0, 4]);
  });

  it('takes from the front', () => {
    const queue = queueOf([10, 20, 30]);
    const taken = new Int32Array(4);
    queue.take(0, 2, taken);
    expect([...taken.subarray(0, 2)]).toEqual([0, 1]);
    expect(contents(queue)).toEqual([{ slot: 2, deadlineNs: 30 }]);
  });

  it('takes from further on; those before stay', () => {
    const queue = queueOf([10, 20, 30, 40]);
    const taken = new Int32Array(2);
    queue.take(queue.firstFrom(15), 2, taken);
    expect([...taken]).toEqual([1, 2]);
    expect(slotsOf(queue)).toEqual([0, 3]);
  });

  it('finds the first request that is not before a time, one at that time included', () => {
    const queue = queueOf([10, 20, 30]);
    expect([0, 10, 11, 30, 31].map((ns) => queue.firstFrom(ns))).toEqual([0, 0, 1, 2, 3]);
  });

  it('removes a request wherever it stands, and says whether it was there', () => {
    const queue = queueOf([10, 20, 30]);
    expect([queue.remove(1), queue.remove(1), queue.remove(7)]).toEqual([true, false, false]);
    expect(slotsOf(queue)).toEqual([0, 2]);
  });

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
