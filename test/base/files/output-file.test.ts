import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from '../../../src/base/files/make-folder.js';
import { cannotWrite, checkWritable, OutputFile, writeWhole } from '../../../src/base/files/output-file.js';

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

  it.skipIf(!existsSync('/dev/full'))('says when the disk is full', () => {
    const file = new OutputFile('/dev/full');
    file.write('x');
    expect(() => file.close()).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE', message: expect.stringContaining('ENOSPC') }),
    );
  });

  it('is whole where several write it at once', () => {
    const path = join(folder, 'log.tsv');
    const [one, other] = [new OutputFile(path), new OutputFile(path)];
    one.write('x'.repeat(300_000));
    other.write('y'.repeat(300_000));
    one.write('x');
    for (const [file, text] of [
      [other, 'y'.repeat(300_000)],
      [one, 'x'.repeat(300_001)],
    ] as const) {
      file.close();
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
    expect(readdirSync(folder)).toEqual(['log.tsv']);
  });

  it('removes what writers left that were killed, but nothing that may still be written', () => {
    const place = (name: string, daysOld: number) => {
      writeFileSync(join(folder, name), 'half');
      const seconds = Date.now() / 1000 - daysOld * 86_400;
      utimesSync(join(folder, name), seconds, seconds);
    };
    const id = '00000000-1111-4222-8333-444444444444';
    place(`run.json.${id}.partial`, 2);
    place(`cell.json.${id}.partial`, 0.9);
    place('own.partial', 2);
    writeWhole(join(folder, 'log.tsv'), 'all');
    expect(readdirSync(folder)).toEqual([`cell.json.${id}.partial`, 'log.tsv', 'own.partial']);
  });

  it('leaves nothing half-written where a folder has its name', () => {
    mkdirSync(join(folder, 'log.tsv'));
    expect(() => new OutputFile(join(folder, 'log.tsv'))).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE', message: expect.stringContaining('it is a folder') }),
    );
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

describe('cannotWrite', () => {
  const reasonOf = (path: string, step: () => unknown): string => {
    try {
      step();
    } catch (cause) {
      return cannotWrite(path, cause).message;
    }
    throw new Error('nothing was thrown');
  };

  it('says in plain words what stands in the way', () => {
    const plain = join(folder, 'plain');
    writeFileSync(plain, '');
    expect(reasonOf(plain, () => makeFolder(plain))).toBe(
      `${plain}: cannot be written: it is a file, not a folder; choose another folder`,
    );
    const inside = join(plain, 'b.json');
    expect(reasonOf(inside, () => makeFolder(plain))).toBe(
      `${inside}: cannot be written: ${plain} is a file, not a folder; choose another folder`,
    );
    expect(reasonOf(inside, () => makeFolder(inside))).toBe(
      `${inside}: cannot be written: not a directory (ENOTDIR)`,
    );
  });
});

describe('links and pipes', () => {
  it('are not replaced: the file at the end of the links is', () => {
    mkdirSync(join(folder, 'there'));
    writeFileSync(join(folder, 'there', 'real'), 'before');
    symlinkSync(join('there', 'real'), join(folder, 'second'));
    symlinkSync('second', join(folder, 'first'));
    symlinkSync(join('there', 'new'), join(folder, 'dangling'));
    writeWhole(join(folder, 'first'), 'after');
    writeWhole(join(folder, 'dangling'), 'made');
    expect(
      ['first', 'second', 'dangling'].map((name) => lstatSync(join(folder, name)).isSymbolicLink()),
    ).toEqual([true, true, true]);
    expect(readdirSync(join(folder, 'there'))).toEqual(['new', 'real']);
    expect(readFileSync(join(folder, 'there', 'real'), 'utf8')).toBe('after');
    expect(readFileSync(join(folder, 'there', 'new'), 'utf8')).toBe('made');
  });

  it('to itself is an error', () => {
    symlinkSync('loop', join(folder, 'loop'));
    expect(() => checkWritable(join(folder, 'loop'))).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE' }),
    );
  });

  it.skipIf(process.platform === 'win32')(
    'takes text as it is, and a check does not open a pipe',
    async () => {
      const pipe = join(folder, 'pipe');
      execFileSync('mkfifo', [pipe]);
      checkWritable(pipe);
      const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] });
      let read = '';
      reader.stdout.on('data', (bytes) => {
        read += bytes;
      });
      writeWhole(pipe, 'text');
      await once(reader, 'close');
      expect(read).toBe('text');
      expect(lstatSync(pipe).isFIFO()).toBe(true);
      expect(readdirSync(folder)).toEqual(['pipe']);
    },
  );
});

it('checks whether a file could be written, and changes nothing', () => {
  const path = join(folder, 'log.tsv');
  writeWhole(path, 'before');
  checkWritable(path);
  expect(readdirSync(folder)).toEqual(['log.tsv']);
  expect(readFileSync(path, 'utf8')).toBe('before');
  expect(() => checkWritable(folder)).toThrow(expect.objectContaining({ code: 'E_FILE_WRITE' }));
  expect(() => checkWritable(join(path, 'below'))).toThrow(expect.objectContaining({ code: 'E_FILE_WRITE' }));
});
