import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchQueue } from '../../src/core/batch-queue.js';

const SIZES = 3;
const WAITING = 1;
const GONE = 0;

/** One list of waiting requests a batch size. */
class Lists {
  readonly lists: { slot: number; deadlineNs: number }[][] = Array.from({ length: SIZES }, () => []);

  push(slot: number, deadlineNs: number): void {
    for (const list of this.lists) list.push({ slot, deadlineNs });
  }

  dropBefore(index: number, ns: number): void {
    const list = this.lists[index];
    while (list.length > 0 && list[0].deadlineNs < ns) list.shift();
  }

  remove(slot: number): void {
    for (const [i, list] of this.lists.entries()) this.lists[i] = list.filter((one) => one.slot !== slot);
  }

  take(index: number, most: number, states: Uint8Array): number[] {
    const taken: number[] = [];
    let last = -1;
    while (taken.length < most && this.lists[index].length > 0) {
      last = this.lists[index].shift()!.slot;
      if (states[last] === WAITING) taken.push(last);
    }
    // Every size loses what was taken and all that came before it.
    for (const list of this.lists) while (list.length > 0 && list[0].slot <= last) list.shift();
    return taken;
  }
}

const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('push' as const), slackNs: fc.nat(30) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('drop' as const), size: fc.nat(SIZES - 1), ns: fc.nat(30) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      size: fc.nat(SIZES - 1),
      most: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('timeout' as const), slot: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), slot: fc.nat() }) },
);

describe('BatchQueue', () => {
  it('behaves like one list a batch size, from all of which a taken request disappears', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 150 }), (ops) => {
        const queue = new BatchQueue(SIZES);
        const lists = new Lists();
        // Slots count up here, so that a slot is also the request's place in line.
        const ids = Float64Array.from({ length: 200 }, (_, slot) => slot + 1000);
        const states = new Uint8Array(200).fill(WAITING);
        const into = new Int32Array(4);
        let slots = 0;
        for (const op of ops) {
          if (op.kind === 'push') {
            queue.push(slots, ids[slots], slots + op.slackNs, 0);
            lists.push(slots, slots + op.slackNs);
            slots++;
          } else if (op.kind === 'timeout') states[op.slot % Math.max(1, slots)] = GONE;
          else if (op.kind === 'remove') {
            const slot = op.slot % Math.max(1, slots);
            queue.remove(slot, ids[slot]);
            lists.remove(slot);
            states[slot] = GONE;
          } else if (op.kind === 'drop') {
            queue.dropBefore(op.size, slots + op.ns);
            lists.dropBefore(op.size, slots + op.ns);
          } else if (lists.lists[op.size].length > 0) {
            const taken = lists.take(op.size, op.most, states);
            expect(queue.take(op.size, op.most, into, ids, states, WAITING)).toBe(taken.length);
            expect([...into.subarray(0, taken.length)]).toEqual(taken);
            for (const slot of taken) states[slot] = GONE;
          }
          expect(queue.isEmpty).toBe(lists.lists.every((list) => list.length === 0));
          for (const [size, list] of lists.lists.entries()) {
            expect(queue.length(size)).toBe(list.length);
            if (list.length === 0) continue;
            expect(queue.headDeadlineNs(size)).toBe(list[0].deadlineNs);
            expect(queue.headSlot(size)).toBe(list[0].slot);
          }
        }
      }),
    );
  });

  it('skips a request whose slot was given to another since', () => {
    const queue = new BatchQueue(1);
    queue.push(0, 10, 100, 0);
    queue.push(1, 11, 100, 0);
    const into = new Int32Array(2);
    expect(queue.take(0, 2, into, Float64Array.of(99, 11), new Uint8Array(2).fill(WAITING), WAITING)).toBe(1);
    expect(into[0]).toBe(1);
  });

  it('forgets what has timed out before a long line grows, and nothing else', () => {
    const queue = new BatchQueue(2);
    // A model that is never loaded: each request times out 100 after it came.
    for (let i = 0; i < 20_000; i++) queue.push(i % 4096, i, i + 100, i);
    expect(queue.length(0)).toBeLessThanOrEqual(1024);
    expect(queue.length(0)).toBeGreaterThanOrEqual(101);
    queue.dropBefore(0, 20_000);
    expect([queue.length(0), queue.headDeadlineNs(0)]).toEqual([100, 20_000]);
  });
});
