import { createReadStream, existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ErrorPlace, EscapementError } from '../errors.js';
import { MIB } from '../units.js';
import type { InputFiles } from '../world/input-files.js';
import { inputPath } from './input-path.js';

/** Limit far above the size of any experiment, profile or list of models. */
const LONGEST_TEXT_BYTES = 256 * MIB;
const BLOCK_BYTES = 1 << 18;
const ZSTD_PIECE_BYTES = 1 << 11;

/** Files of this machine, including pipes. Endless text, such as /dev/zero, is `E_FILE_MISSING`. */
export const DISK_FILES: InputFiles = { text, bytes, stat: statOf };

async function text(path: string): Promise<string> {
  const blocks: Buffer[] = [];
  let length = 0;
  try {
    for await (const block of createReadStream(inputPath(path)) as AsyncIterable<Buffer>) {
      blocks.push(block);
      length += block.length;
      if (length > LONGEST_TEXT_BYTES) break;
    }
  } catch (error) {
    throw fileProblem(error, path);
  }
  if (length > LONGEST_TEXT_BYTES) {
    const what = `is larger than ${LONGEST_TEXT_BYTES / MIB} MiB`;
    throw new EscapementError('E_FILE_MISSING', what, { file: path });
  }
  return Buffer.concat(blocks).toString('utf8');
}

async function* bytes(path: string, start = 0): AsyncGenerator<Uint8Array, void, void> {
  const input = openBytes(path, start);
  try {
    yield* path.endsWith('.zst') ? unpackZstd(input) : (input as AsyncIterable<Buffer>);
  } catch (error) {
    throw bytesProblem(error, path);
  } finally {
    input.destroy();
  }
}

function openBytes(path: string, start: number): Readable {
  const file = createReadStream(inputPath(path), { highWaterMark: BLOCK_BYTES, start });
  if (!path.endsWith('.gz')) return file;
  // Errors of the file reach the reader through the unpacked stream, so the callback has nothing to do.
  return pipeline(file, createGunzip({ chunkSize: BLOCK_BYTES }), () => {});
}

/** Zstandard is part of Node's zlib from 22.15 on only. */
async function* unpackZstd(input: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array, void, void> {
  const { Decompress } = await import('fzstd');
  const unpacked: Uint8Array[] = [];
  // The decompressor reuses its blocks.
  const zstd = new Decompress((block) => unpacked.push(block.slice()));
  for await (const block of input) {
    // A few bytes may expand to 128 KiB, so a whole block at once could fill the memory.
    for (let begin = 0; begin < block.length; begin += ZSTD_PIECE_BYTES) {
      zstd.push(block.subarray(begin, begin + ZSTD_PIECE_BYTES));
      yield* unpacked.splice(0);
    }
  }
  zstd.push(new Uint8Array(), true);
  yield* unpacked;
}

async function statOf(path: string) {
  try {
    const { size, mtimeMs } = await stat(path);
    return { bytes: size, version: `${size} ${mtimeMs}` };
  } catch (error) {
    throw fileProblem(error, path);
  }
}

/** Bytes of a file named by a flag at `place`. Throws `E_FILE_MISSING`. */
export async function readInput(path: string, place: ErrorPlace = {}): Promise<Buffer> {
  try {
    return await readFile(inputPath(path));
  } catch (error) {
    throw fileProblem(error, path, place);
  }
}

/** Error for an operator about an unreadable file; `place` is where it was named. */
export function fileProblem(error: unknown, path: string, place: ErrorPlace = {}): EscapementError {
  const code = (error as NodeJS.ErrnoException).code;
  const other = path.replace(/\.ya?ml$/, (end) => (end === '.yml' ? '.yaml' : '.yml'));
  const what =
    code === 'ENOENT'
      ? `no such file${other !== path && existsSync(other) ? `; did you mean ${other}?` : ''}`
      : code === 'EISDIR'
        ? 'is a folder, not a file'
        : error instanceof EscapementError
          ? error.what
          : `cannot be read (${code ?? error})`;
  return place.file === undefined
    ? new EscapementError('E_FILE_MISSING', what, { ...place, file: path })
    : new EscapementError('E_FILE_MISSING', `${path}: ${what}`, place);
}

function bytesProblem(error: unknown, path: string): EscapementError {
  const { code, message } = error as NodeJS.ErrnoException;
  // zlib's codes are words that begin with Z_, those of fzstd are numbers.
  if (code?.startsWith?.('Z_') !== true && typeof code !== 'number') return fileProblem(error, path);
  const what = `the compressed data ends early or is corrupt (${message}); fetch or make the file again`;
  return new EscapementError('E_FILE_TRUNCATED', what, { file: path });
}
