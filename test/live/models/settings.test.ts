import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSettings, writePadding } from '../../../src/live/models/settings.js';
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

it('takes what inputs are padded to, next to what is there, and undoes it', () => {
  const path = join(tempDir(), 'config.yaml');
  const undoFirst = writePadding(path, [8, 32], { ids: 0, isText: false });
  expect(readFileSync(path, 'utf8')).toBe('buckets: [ 8, 32 ]\nfill: { ids: 0, isText: false }\n');
  undoFirst();
  expect(existsSync(path)).toBe(false);
  const text = '# Ours.\nslo: 20ms\nfill: { ids: 7 } # no text\n';
  writeFileSync(path, text);
  const undo = writePadding(path, [16], { ids: 0 });
  expect(readFileSync(path, 'utf8')).toBe(`${text}buckets: [ 16 ]\n`);
  expect(readSettings(path)).toMatchObject({ slo: 20e6, buckets: [16], fill: { ids: 7 } });
  undo();
  expect(readFileSync(path, 'utf8')).toBe(text);
});
