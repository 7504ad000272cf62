import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileDigest } from '../../../src/base/files/file-digest.js';
import { tempDir } from '../../cli/run-cli.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

it('is that of the content as it is now, also where size and modification time are as before', () => {
  const path = join(tempDir(), 'weights');
  const writeAt = (text: string) => {
    writeFileSync(path, text);
    utimesSync(path, 1e9, 1e9);
  };
  writeAt('one');
  expect(fileDigest(path)).toBe(sha256('one'));
  writeAt('two');
  expect(fileDigest(path)).toBe(sha256('two'));
});

it('follows links; what is no file has none', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), 'x'.repeat(5_000_000));
  symlinkSync('file', join(dir, 'link'));
  symlinkSync('circle', join(dir, 'circle'));
  mkdirSync(join(dir, 'folder'));
  expect(fileDigest(join(dir, 'link'))).toBe(sha256('x'.repeat(5_000_000)));
  for (const name of ['circle', 'folder', 'nothing']) expect(fileDigest(join(dir, name))).toBe(null);
});

it.skipIf(process.getuid?.() === 0)('says which file cannot be read', () => {
  const path = join(tempDir(), 'secret');
  writeFileSync(path, '');
  chmodSync(path, 0o000);
  expect(() => fileDigest(path)).toThrow(`${path}: cannot be read: EACCES`);
});
