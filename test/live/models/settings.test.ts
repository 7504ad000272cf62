import { expect, it } from 'vitest';
import { readSettings } from '../../../src/live/models/settings.js';
import { tempDir, writeIn } from './fixtures.js';

it.each([
  ['slo: 100', 'slo: 100 has no unit: write a duration such as 100ms'],
  ['slo: [1]', 'slo: must be a duration such as 50ms'],
  ['batchSizes: 4', 'batchSizes: must be a list, found 4'],
  ['batchSizes: [1, two]', 'batchSizes.1: must be a number, found "two"'],
  ['batchSizes: [1.5]', 'batchSizes.0: must be a whole number, found 1.5'],
  ['dimensions: { width: 0 }', 'dimensions.width: must be at least 1'],
  ['dimensions: wide', 'dimensions: must be a section of keys, found "wide"'],
  ['labels: { out: 3 }', 'labels.out: must be a string, found 3'],
  ["labels: { out: '' }", 'labels.out: must not be empty'],
  ['labels:', 'labels: must be a section of keys, found nothing'],
])('%s is refused in words of the project', (text, message) => {
  const path = writeIn(tempDir(), 'config.yaml', `${text}\n`);
  expect(() => readSettings(path)).toThrow(`config.yaml:1: ${message}`);
});
