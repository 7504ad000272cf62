import { expect, it } from 'vitest';
import { freeLarge } from '../../src/live/transfer.js';

it('frees the buffers of large tensors at once, and leaves small ones alone', () => {
  const body = new Uint8Array(40_000_000).fill(1);
  const small = new Uint8Array(100);
  const beforeBytes = process.memoryUsage().arrayBuffers;
  freeLarge([body.subarray(0, 20_000_000), small, body.subarray(20_000_000)]);
  expect(body.length).toBe(0);
  expect(small.length).toBe(100);
  expect(beforeBytes - process.memoryUsage().arrayBuffers).toBeGreaterThan(39_000_000);
  // What is gone already is no mistake.
  expect(() => freeLarge([body, small])).not.toThrow();
});
