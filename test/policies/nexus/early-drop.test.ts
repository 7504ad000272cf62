import { describe, expect, it } from 'vitest';
import { DeadlineQueue } from '../../../src/policies/common/deadline-queue.js';
import { Latencies } from '../../../src/policies/nexus/latencies.js';
import { dropEarly } from '../../../src/policies/nexus/policy.js';
import { models } from '../../core/fixtures.js';

const MS = 1_000_000;
/** 3, 5 and 8 ms at batch 1, 2 and 4. */
const LATENCIES = new Latencies(models(1), 4);

function queue(...deadlinesMs: number[]): DeadlineQueue {
  const made = new DeadlineQueue();
  for (const [slot, deadlineMs] of deadlinesMs.entries()) made.push(slot, deadlineMs * MS);
  return made;
}

describe('dropEarly', () => {
  it('drops the first as long as they would be late for the window that begins with them', () => {
    const waiting = queue(4, 7, 9, 20, 20, 20);
    expect(dropEarly(waiting, 0, 4, 0, LATENCIES)).toBe(4);
    expect(waiting.slotAt(0)).toBe(2);
  });

  it('nor than the planned batch', () => {
    const waiting = queue(6, 6, 6, 6);
    expect(dropEarly(waiting, 0, 2, 0, LATENCIES)).toBe(2);
    expect(waiting.length).toBe(4);
  });

  it('drops all where not even the last can be met', () => {
    const waiting = queue(12, 12);
    expect(dropEarly(waiting, 0, 4, 10 * MS, LATENCIES)).toBe(0);
    expect(waiting.length).toBe(0);
  });
});
