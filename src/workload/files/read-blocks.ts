import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { EscapementError } from '../../base/errors.js';

const BLOCK_BYTES = 1 << 18;
/** No line of a known trace comes near; a file without line ends must not be read into memory whole. */
const LONGEST_LINE_BYTES = 1 << 24;
const NEWLINE = 0x0a;

/**
 * A text file, unpacked if its name ends in `.gz`, as blocks of whole lines: every block ends with a
 * newline, which is added to a last line that lacks it. Empty files yield nothing.
 * Throws `E_FILE_MISSING`, `E_FILE_TRUNCATED`, and `E_TRACE_HEADER` for files that are not lines of text.
 * `start` skips bytes of an unpacked file.
 */
export async function* readBlocks(path: string, start = 0): AsyncGenerator<Buffer, void, void> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  const input = openBytes(path, start);
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      const cut = chunk.lastIndexOf(NEWLINE) + 1;
      if (cut > 0) {
        const head = chunk.subarray(0, cut);
        yield rest.length === 0 ? head : Buffer.concat([...rest, head]);
        rest = [];
        restBytes = 0;
      }
      if (cut < chunk.length) rest.push(chunk.subarray(cut));
      restBytes += chunk.length - cut;
      if (restBytes > LONGEST_LINE_BYTES) throw notText(path);
    }
    if (restBytes > 0) yield Buffer.concat([...rest, Buffer.of(NEWLINE)]);
  } catch (error) {
    throw inputError(error, path);
  } finally {
    input.destroy();
  }
}

function openBytes(path: string, start: number): Readable {
  const file = createReadStream(path, { highWaterMark: BLOCK_BYTES, start });
  if (!path.endsWith('.gz')) return file;
  // Errors of the file reach the reader through the unpacked stream; nothing is left for the callback.
  return pipeline(file, createGunzip({ chunkSize: BLOCK_BYTES }), () => {});
}

function notText(path: string): EscapementError {
  return new EscapementError('E_TRACE_HEADER', 'is not a trace: it has a line of more than 16 MiB', {
    file: path,
  });
}

function inputError(error: unknown, path: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new EscapementError('E_FILE_MISSING', 'no such file', { file: path });
  if (code === 'EISDIR' || code === 'EACCES' || code === 'ENOTDIR') {
    return new EscapementError('E_FILE_MISSING', `cannot be read (${message})`, { file: path });
  }
  if (code?.startsWith('Z_')) {
    const what = `the compressed data ends early or is corrupt (${message}); fetch or make the file again`;
    return new EscapementError('E_FILE_TRUNCATED', what, { file: path });
  }
  return error;
}
