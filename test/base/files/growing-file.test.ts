import { existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EscapementError } from '../../../src/base/errors.js';
import { GrowingFile } from '../../../src/base/files/growing-file.js';
import { REAL_DISK } from '../../../src/base/files/real-disk.js';

const folder = () => mkdtempSync(join(tmpdir(), 'escapement-growing-'));

describe('GrowingFile', () => {
  it('writes a lot in order, into folders that it makes', async () => {
    const path = join(folder(), 'deep', 'down', 'log');
    const file = new GrowingFile(path, () => {});
    const line = `${'x'.repeat(99)}\n`;
    for (let i = 0; i < 10_000; i++) file.write(line);
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe(line.repeat(10_000));
  });

  it('writes by itself before long', async () => {
    const path = join(folder(), 'log');
    const file = new GrowingFile(path, () => {});
    file.write('small');
    await expect.poll(() => readFileSync(path, 'utf8')).toBe('small');
    await file.close();
  });

  it('refuses a name that cannot be written at once', () => {
    expect(() => new GrowingFile(folder(), () => {})).toThrow(
      expect.objectContaining({ code: 'E_FILE_WRITE' }),
    );
  });

  it('tells of a full disk once and takes no harm', async ({ skip }) => {
    skip(!existsSync('/dev/full'), 'there is no /dev/full');
    const base = folder();
    const failures: EscapementError[] = [];
    const file = new GrowingFile(fullDisk(base), (error) => failures.push(error));
    for (let i = 0; i < 3; i++) {
      file.write('x');
      file.flush();
    }
    await file.close();
    file.write('after');
    await file.close();
    expect(failures.map(({ code }) => code)).toEqual(['E_FILE_WRITE']);
    expect(failures[0]?.message).toContain('ENOSPC');
  });

  it('gives up on a disk that falls too far behind', () => {
    const failures: EscapementError[] = [];
    const written: string[] = [];
    let isDestroyed = false;
    const slow = {
      path: 'log',
      unwrittenBytes: 2 ** 30,
      write: (text: string) => written.push(text),
      close: async () => {},
      destroy: () => {
        isDestroyed = true;
      },
    };
    const disk = { ...REAL_DISK, append: () => slow };
    const file = new GrowingFile('log', (error) => failures.push(error), { disk });
    for (const text of ['first', 'second']) {
      file.write(text);
      file.flush();
    }
    expect(written).toEqual(['first']);
    expect(isDestroyed).toBe(true);
    expect(failures.map(({ message }) => message)).toEqual(['log: cannot be written: the disk is too slow']);
  });
});

function fullDisk(base: string): string {
  const path = join(base, 'log');
  symlinkSync('/dev/full', path);
  return path;
}
