import { expect, it } from 'vitest';
import { isOfInputs } from '../../../src/live/ort/runtime-problem.js';

it.each([
  [
    "Non-zero status code returned while running Gather node. Name:'' indices element out of data bounds",
    true,
  ],
  ['Non-zero status code returned while running Add node. Attempting to broadcast an axis. 2 by 3', true],
  [
    "Non-zero status code returned while running Gather node. Name:'/memory/device_Gather' idx=9 is out of bounds",
    true,
  ],
  ['Non-zero status code returned while running Conv node. CUDA error 700: an illegal memory access', false],
  ['Non-zero status code returned while running MatMul node. Failed to allocate memory', false],
  ['std::bad_alloc', false],
  ['the device was lost', false],
])('says whether inputs or the device are at fault: %s', (reason, ofInputs) => {
  expect(isOfInputs(reason)).toBe(ofInputs);
});
