import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeFileAtomic } from '../../src/sweep/atomic-file.js';

test('makes the folder, and leaves nothing but the file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-'));
  writeFileAtomic(join(dir, 'a', 'b.json'), '{}');
  expect(readdirSync(join(dir, 'a'))).toEqual(['b.json']);
  expect(readFileSync(join(dir, 'a', 'b.json'), 'utf8')).toBe('{}');
});

test('a path that cannot be written is an operator error with that path', () => {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-'));
  writeFileSync(join(dir, 'file'), '');
  const inFile = join(dir, 'file', 'b.json');
  expect(() => writeFileAtomic(inFile, '{}')).toThrow(
    expect.objectContaining({ code: 'E_FILE_WRITE', place: { file: inFile } }),
  );
});
