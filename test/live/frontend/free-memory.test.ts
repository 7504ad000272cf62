import { expect, it } from 'vitest';
import { freeMemory } from '../../../src/live/frontend/free-memory.js';

it('takes the memory of large buffers at once, and leaves small ones to the collector', () => {
  const large = Buffer.allocUnsafeSlow(2_000_000);
  freeMemory(large.subarray(5, 10));
  expect(large).toHaveLength(0);
  const small = Buffer.from('part of a pool that others use');
  freeMemory(small);
  expect(small.toString()).toBe('part of a pool that others use');
});

it('keeps resident memory where it was, however much goes through', async () => {
  const beforeBytes = process.memoryUsage.rss();
  for (let i = 0; i < 20; i++) {
    freeMemory(Buffer.alloc(50_000_000, 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(200_000_000);
});
