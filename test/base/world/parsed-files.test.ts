import { describe, expect, it } from 'vitest';
import { EscapementError } from '../../../src/base/errors.js';
import type { InputFiles } from '../../../src/base/world/input-files.js';
import { ParsedFiles, parsed } from '../../../src/base/world/parsed-files.js';

const MIB = 1024 * 1024;

/** Files in memory: their texts, versions and lengths may be changed. */
class Memory implements InputFiles {
  readonly parsed = new ParsedFiles();
  reads = 0;
  readonly files = new Map<string, { text: string; version: string; bytes: number }>();

  put(path: string, text: string, bytes = text.length): void {
    this.files.set(path, { text, version: `${text} of ${bytes}`, bytes });
  }

  async text(path: string): Promise<string> {
    this.reads++;
    return this.files.get(path)?.text ?? '';
  }

  async *bytes(): AsyncGenerator<Uint8Array> {}

  async stat(path: string) {
    const file = this.files.get(path);
    if (file === undefined) throw new EscapementError('E_FILE_MISSING', 'no such file', { file: path });
    return file;
  }
}

const length = async (files: InputFiles, path: string) => (await files.text(path)).length;
const shout = async (files: InputFiles, path: string) => (await files.text(path)).toUpperCase();

describe('parsed', () => {
  it('reads a file once as long as it stays as it is', async () => {
    const files = new Memory();
    files.put('a', 'abc');
    expect(await Promise.all([parsed(files, 'a', length), parsed(files, 'a', length)])).toEqual([3, 3]);
    expect(files.reads).toBe(1);
    files.put('a', 'abcd');
    expect(await parsed(files, 'a', length)).toBe(4);
    expect(await parsed(files, 'a', length)).toBe(4);
    expect(files.reads).toBe(2);
  });

  it('keeps what is made of one file in two ways apart', async () => {
    const files = new Memory();
    files.put('a', 'abc');
    expect(await parsed(files, 'a', length)).toBe(3);
    expect(await parsed(files, 'a', shout)).toBe('ABC');
    expect(await parsed(files, 'a', length)).toBe(3);
    expect(files.reads).toBe(2);
  });

  it('tries again after a failure', async () => {
    const files = new Memory();
    files.put('a', 'abc');
    let isBroken = true;
    const parse = async (from: InputFiles, path: string) => {
      if (isBroken) throw new Error('broken');
      return length(from, path);
    };
    await expect(parsed(files, 'a', parse)).rejects.toThrow('broken');
    isBroken = false;
    expect(await parsed(files, 'a', parse)).toBe(3);
    await expect(parsed(files, 'b', parse)).rejects.toThrow('no such file');
  });

  it('keeps one large file, or several that are not', async () => {
    const files = new Memory();
    const readAll = async (paths: string[]) => {
      const before = files.reads;
      for (const path of paths) await parsed(files, path, length);
      return files.reads - before;
    };
    for (const path of ['a', 'b', 'c']) files.put(path, path, 20 * MIB);
    files.put('large', 'large', 100 * MIB);
    expect(await readAll(['a', 'b', 'c'])).toBe(3);
    expect(await readAll(['a', 'b', 'c'])).toBe(0);
    expect(await readAll(['large', 'large'])).toBe(1);
    expect(await readAll(['c', 'b', 'c', 'b'])).toBe(2);
    for (let i = 0; i < 40; i++) files.put(`${i}`, 'x');
    expect(await readAll(Array.from({ length: 40 }, (_, i) => `${i}`))).toBe(40);
    expect(await readAll(['39', '8', '7'])).toBe(1);
  });
});
