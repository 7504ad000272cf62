import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeShared } from '../../../src/base/files/shared-file.js';
import { tempDir } from '../../cli/run-cli.js';

it('makes folders as needed, replaces what was there, and leaves nothing else behind', () => {
  const path = join(tempDir(), 'a', 'b', 'one.json');
  writeShared(path, 'first');
  writeShared(path, 'second');
  expect(readFileSync(path, 'utf8')).toBe('second');
  expect(readdirSync(join(path, '..'))).toEqual(['one.json']);
});

it('does not touch what another writer has not finished', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'one.json.partial'), 'of another');
  writeShared(join(dir, 'one.json'), 'mine');
  expect(readFileSync(join(dir, 'one.json.partial'), 'utf8')).toBe('of another');
});
