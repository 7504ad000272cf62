import {
  existsSync,
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
import { OutputFile } from '../../src/metrics/output-file.js';

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
});
