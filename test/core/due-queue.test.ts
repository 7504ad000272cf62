import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DueQueue } from '../../src/core/due-queue.js';

interface Entry {
  readonly timeNs: number;
  readonly slot: number;
  readonly id: number;
}

/** Pushes with ascending ids, as requests come, and pops; checks the order against a sorted array. */
function check(steps: readonly (number | 'pop')[]): void {
  const queue = new DueQueue();
  const entries: Entry[] = [];
  let id = 0;
  for (const step of steps) {
    if (step !== 'pop') {
      const entry = { timeNs: step, slot: (id * 7) % 1000, id };
      id++;
      entries.push(entry);
      entries.sort((a, b) => a.timeNs - b.timeNs || a.id - b.id);
      queue.push(entry.timeNs, entry.slot, entry.id);
    } else if (entries.length > 0) {
      const first = entries.shift() as Entry;
      expect([queue.topNs, queue.topSlot, queue.topId]).toEqual([first.timeNs, first.slot, first.id]);
      queue.pop();
    }
    expect(queue.size).toBe(entries.length);
    expect(queue.topNs).toBe(entries.length === 0 ? Number.POSITIVE_INFINITY : entries[0].timeNs);
  }
}

describe('DueQueue', () => {
  it('gives entries by (time, id), whatever mix of SLOs made them due', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.nat(40) },
      { weight: 2, arbitrary: fc.constant('pop' as const) },
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 120 }), check));
  });

  it('gives entries that come in order of time in that order, over many turns of the ring', () => {
    const steps: (number | 'pop')[] = [];
    for (let i = 0; i < 2000; i++) steps.push(i >> 1, ...(i % 3 === 0 ? [] : ['pop' as const]));
    check(steps);
  });
});
