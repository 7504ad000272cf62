import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from '../../../src/base/files/make-folder.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'escapement-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('makes a folder and those above it, and leaves what is there', () => {
  const path = join(dir, 'a', 'b', 'c');
  makeFolder(path);
  writeFileSync(join(path, 'kept'), '');
  makeFolder(path);
  makeFolder(`${join(dir, 'a', 'd')}/`);
  expect(existsSync(join(path, 'kept'))).toBe(true);
  expect(statSync(join(dir, 'a', 'd')).isDirectory()).toBe(true);
});

it('says why it cannot', () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  symlinkSync(join(dir, 'nowhere'), join(dir, 'dangling'));
  expect(() => makeFolder(file)).toThrow(/EEXIST/);
  expect(() => makeFolder(join(file, 'below'))).toThrow(/ENOTDIR/);
  expect(() => makeFolder(join(dir, 'dangling'))).toThrow(/EEXIST/);
});
