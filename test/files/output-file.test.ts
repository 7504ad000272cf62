import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkWritable, OutputFile, writeWhole } from '../../src/files/output-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-logs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('OutputFile', () => {
  it('has its name only when it is complete', () => {
    const path = join(folder, 'deep', 'down', 'log.tsv');
    const file = new OutputFile(path);
    const line = `${'x'.repeat(99)}µ\n`;
    for (let i = 0; i < 10_000; i++) file.write(line);
    expect(existsSync(path)).toBe(false);
    file.close();
    expect(readFileSync(path, 'utf8')).toBe(line.repeat(10_000));
    expect(readdirSync(join(folder, 'deep', 'down'))).toEqual(['log.tsv']);
  });

  it('leaves nothing when it is discarded, and a finished file when it is discarded too late', () => {
    const file = new OutputFile(join(folder, 'log.tsv'));
    file.write('half');
    file.discard();
    expect(readdirSync(folder)).toEqual([]);
    const finished = new OutputFile(join(folder, 'log.tsv'));
    finished.close();
    finished.discard();
    expect(readdirSync(folder)).toEqual(['log.tsv']);
  });

  it('reports what the system refuses as E_FILE_WRITE with the path', () => {
    writeFileSync(join(folder, 'plain'), '');
    const path = join(folder, 'plain', 'log.tsv');
    expect(() => new OutputFile(path)).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE', place: { file: path } }),
    );
  });

  it.skipIf(!existsSync('/dev/full'))('leaves nothing behind when the disk is full', () => {
    symlinkSync('/dev/full', join(folder, 'log.tsv.partial'));
    const file = new OutputFile(join(folder, 'log.tsv'));
    file.write('x');
    expect(() => file.close()).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE', message: expect.stringContaining('ENOSPC') }),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes texts and bytes in the order given', () => {
    const file = new OutputFile(join(folder, 'mixed'));
    file.write('a');
    file.write(Uint8Array.of(98, 99));
    file.write('d');
    file.close();
    expect(readFileSync(join(folder, 'mixed'), 'utf8')).toBe('abcd');
  });

  it('leaves nothing half-written where a folder has its name', () => {
    mkdirSync(join(folder, 'log.tsv'));
    const file = new OutputFile(join(folder, 'log.tsv'));
    expect(() => file.close()).toThrow(expect.objectContaining({ code: 'E_FILE_WRITE' }));
    expect(readdirSync(folder)).toEqual(['log.tsv']);
  });
});

describe('writeWhole', () => {
  it('makes the folders, replaces what was there, and leaves nothing but the file', () => {
    const path = join(folder, 'a', 'b.json');
    writeWhole(path, '[1, 2, 3]');
    writeWhole(path, '{}');
    expect(readdirSync(join(folder, 'a'))).toEqual(['b.json']);
    expect(readFileSync(path, 'utf8')).toBe('{}');
  });

  it('names the path that cannot be written, also where a file stands in for a folder', () => {
    writeFileSync(join(folder, 'plain'), '');
    const path = join(folder, 'plain', 'deep', 'b.json');
    expect(() => writeWhole(path, '{}')).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE', place: { file: path } }),
    );
  });
});

it('checks whether a file could be written, and changes nothing', () => {
  const path = join(folder, 'log.tsv');
  writeWhole(path, 'before');
  checkWritable(path);
  expect(readdirSync(folder)).toEqual(['log.tsv']);
  expect(readFileSync(path, 'utf8')).toBe('before');
  expect(() => checkWritable(join(path, 'below'))).toThrow(expect.objectContaining({ code: 'E_FILE_WRITE' }));
});
