import { describe, expect, it } from 'vitest';
import { RequestTable } from '../../../src/core/request.js';
import { DeadlineQueue } from '../../../src/policies/common/deadline-queue.js';
import { Urgency } from '../../../src/policies/edgeserving/policy.js';
import { MS } from '../policy-harness.js';

/** Requests of one model, one a millisecond, with these SLOs in turn. */
function arrivals(count: number, sloMs: readonly number[]) {
  const requests = new RequestTable();
  const urgency = new Urgency(requests, 1);
  const queue = new DeadlineQueue();
  for (let i = 0; i < count; i++) {
    const slot = requests.allocate(0, i * MS, sloMs[i % sloMs.length] * MS, 0);
    urgency.arrived(slot);
    queue.push(slot, i * MS);
  }
  return { urgency, queue };
}

describe('Urgency', () => {
  it.each([[[10]], [[2, 30]], [[300]]])('of a queue is the sum over its requests, SLOs of %j ms', (sloMs) => {
    const { urgency, queue } = arrivals(100, sloMs);
    for (const atMs of [100, 130, 1000]) {
      let sum = 0;
      for (let i = 0; i < 100; i++) sum += Math.min(10, Math.exp((atMs - i) / sloMs[i % sloMs.length] - 1));
      expect(urgency.ofQueue(0, queue, atMs * MS)).toBeCloseTo(sum, 6);
      expect(urgency.ofFirst(queue, 100, atMs * MS)).toBeCloseTo(sum, 6);
    }
  });
});
