import { expect, it } from 'vitest';
import { fileStamp, unixMs } from '../../../src/base/clock/wall-clock.js';

it('is in milliseconds since 1970', () => {
  expect(unixMs()).toBeGreaterThan(Date.UTC(2025, 0));
  expect(unixMs()).toBeLessThan(Date.UTC(2125, 0));
});

it('stamps names of files in UTC, in order of time', () => {
  const stamp = fileStamp(Date.UTC(2026, 0, 31, 9, 30, 0, 125) + 0.9);
  expect(stamp).toBe('2026-01-31-09-30-00-125');
  expect(fileStamp(Date.UTC(2026, 10, 3)) > stamp).toBe(true);
});
