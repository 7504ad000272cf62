import { expect, it } from 'vitest';
import { unixMs } from '../../../src/base/clock/wall-clock.js';

it('is in milliseconds since 1970', () => {
  expect(unixMs()).toBeGreaterThan(Date.UTC(2025, 0));
  expect(unixMs()).toBeLessThan(Date.UTC(2125, 0));
});
