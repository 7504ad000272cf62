import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import { type JournalHeader, parseHeader } from './journal-header.js';

const BLOCK_BYTES = 1 << 18;
/** Longest line accepted, about a header with 100,000 models; a file without line ends must not be read whole. */
const LONGEST_LINE_CHARS = 1 << 26;

/** Contents of a journal, in chunks of any length. */
export type JournalText = AsyncIterable<string> | Iterable<string>;

/**
 * Reads a journal of any size in constant memory: calls `open` with its header and the result of that with the fields of
 * each further line. Returns its final digest; null if it was cut off, in which case the incomplete line is ignored.
 * Throws `E_JOURNAL` for an invalid journal, `E_FILE_MISSING`, and `E_FILE_TRUNCATED` for corrupt compressed data. An
 * `EscapementError` of a line gets its number. `text`: default: that of the file.
 */
export async function readJournal(
  path: string,
  open: (header: JournalHeader) => (fields: readonly string[]) => void,
  text: JournalText = openText(path),
): Promise<string | null> {
  let visit: ReturnType<typeof open> | null = null;
  let digest: string | null = null;
  const lines = await eachLine(path, text, (line) => {
    const fields = line.split(' ');
    if (visit === null) visit = open(parseHeader(line));
    else if (digest !== null) throw malformed('a line after the end');
    else if (fields[0] !== 'e') visit(fields);
    else if (fields.length === 2) digest = fields[1];
    else throw malformed(`has ${fields.length} fields where a line "e" has 2`);
  });
  if (lines === 0) throw new EscapementError('E_JOURNAL', 'has no complete header', { file: path });
  return digest;
}

/** Calls `use` with each complete line; returns their number. */
async function eachLine(path: string, text: JournalText, use: (line: string) => void): Promise<number> {
  let rest = '';
  let count = 0;
  try {
    for await (const block of text) {
      const lines = (rest + block).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) {
        count++;
        use(line);
      }
      if (rest.length > LONGEST_LINE_CHARS) throw malformed('a line of more than 64 MiB');
    }
    return count;
  } catch (error) {
    throw atLine(error, path, count);
  }
}

function openText(path: string): AsyncIterable<string> {
  const file = createReadStream(inputPath(path), { highWaterMark: BLOCK_BYTES });
  if (!path.endsWith('.gz')) return file.setEncoding('utf8');
  // Compressed data that ends early yields what there is. Errors of the file come through the decompressed stream.
  const gunzip = createGunzip({ chunkSize: BLOCK_BYTES, finishFlush: constants.Z_SYNC_FLUSH });
  return pipeline(file, gunzip, () => {}).setEncoding('utf8');
}

export function malformed(what: string): EscapementError {
  return new EscapementError('E_JOURNAL', `is malformed: ${what}`);
}

function atLine(error: unknown, path: string, line: number): unknown {
  if (error instanceof EscapementError) {
    return new EscapementError(error.code, error.what, { ...error.place, file: path, line });
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new EscapementError('E_FILE_MISSING', 'no such file', { file: path });
  if (code === 'EISDIR' || code === 'EACCES' || code === 'ENOTDIR') {
    return new EscapementError('E_FILE_MISSING', `cannot be read (${message})`, { file: path });
  }
  if (code?.startsWith('Z_')) {
    return new EscapementError('E_FILE_TRUNCATED', `the packed data is corrupt (${message})`, { file: path });
  }
  return error;
}
