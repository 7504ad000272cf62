import { expect, test } from 'vitest';
import { LIVE_DEVICES } from '../../src/config/schema-runtime.js';
import { PROVIDERS } from '../../src/live/device.js';

test('an experiment can name every device that live mode has', () => {
  expect([...LIVE_DEVICES].sort()).toEqual([...PROVIDERS, 'simulated'].sort());
});
