import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { ModelSpec } from '../../core/model.js';
import { type JournalHeader, parseHeader, parseModel } from './journal-header.js';

/** Receives the contents of a journal, in order. An `EscapementError` that it throws gets the line's number. */
export interface JournalVisitor {
  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
    length: number,
  ): void;
  /** Trace of the preceding request. */
  trace(traceparent: string): void;
  cancel(slot: number): void;
  result(id: number, status: number, beginNs: number, endNs: number, clock: number): void;
  gpuDown(gpu: number): void;
  gpuUp(gpu: number, models: readonly number[], kind: number): void;
  putModel(model: number, spec: ModelSpec): void;
  retireModel(model: number): void;
  step(nowNs: number): void;
}

/** Length of a `traceparent`. */
const LONGEST_TRACE_CHARS = 55;
const BLOCK_BYTES = 1 << 18;
/** Longest line accepted, about a header with 100,000 models; a file without line ends must not be read whole. */
const LONGEST_LINE_CHARS = 1 << 26;

/** Contents of a journal, in chunks of any length. */
export type JournalText = AsyncIterable<string> | Iterable<string>;

/**
 * Reads a journal of any size in constant memory. Returns its final digest; null if it was cut off, in which case the
 * incomplete line is ignored. Throws `E_JOURNAL` for an invalid journal, `E_FILE_MISSING`, and `E_FILE_TRUNCATED` for
 * corrupt compressed data. `text`: default: that of the file.
 */
export async function readJournal(
  path: string,
  open: (header: JournalHeader) => JournalVisitor,
  text: JournalText = openText(path),
): Promise<string | null> {
  let visitor: JournalVisitor | null = null;
  let digest: string | null = null;
  const lines = await eachLine(path, text, (line) => {
    if (visitor === null) visitor = open(parseHeader(line));
    else if (digest !== null) throw malformed('a line after the end');
    else digest = visit(line, visitor);
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

/** Returns the digest if this is the last line. */
function visit(line: string, visitor: JournalVisitor): string | null {
  const fields = line.split(' ');
  switch (fields[0]) {
    case 'o':
      if (fields.length !== 7 && fields.length !== 8) expectFields(fields, 5);
      visitor.offer(
        index(fields[1]),
        time(fields[2]),
        number(fields[3]),
        index(fields[4]),
        index(fields[5] ?? '0'),
        index(fields[6] ?? '0'),
        index(fields[7] ?? '0'),
      );
      return null;
    case 'w':
      expectFields(fields, 2);
      visitor.trace(fields[1].slice(0, LONGEST_TRACE_CHARS));
      return null;
    case 'c':
      expectFields(fields, 2);
      visitor.cancel(index(fields[1]));
      return null;
    case 'r':
      expectFields(fields, 6);
      visitor.result(index(fields[1]), index(fields[2]), time(fields[3]), time(fields[4]), number(fields[5]));
      return null;
    case 'd':
      expectFields(fields, 2);
      visitor.gpuDown(index(fields[1]));
      return null;
    case 'u':
      if (fields.length < 3) expectFields(fields, 3);
      visitor.gpuUp(index(fields[1]), fields.slice(3).map(index), index(fields[2]));
      return null;
    case 'p':
      if (fields.length < 3) expectFields(fields, 3);
      visitor.putModel(index(fields[1]), parseModel(fields.slice(2).join(' ')));
      return null;
    case 't':
      expectFields(fields, 2);
      visitor.retireModel(index(fields[1]));
      return null;
    case 's':
      expectFields(fields, 2);
      visitor.step(time(fields[1]));
      return null;
    case 'e':
      expectFields(fields, 2);
      return fields[1];
    default:
      throw malformed(`no line begins with "${fields[0].slice(0, 20)}"`);
  }
}

function expectFields(fields: readonly string[], expected: number): void {
  if (fields.length === expected) return;
  throw malformed(`has ${fields.length} fields where a line "${fields[0]}" has ${expected}`);
}

function index(text: string): number {
  const value = number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`"${text}" is not a whole number`);
}

function time(text: string): number {
  const value = number(text);
  if (Number.isFinite(value)) return value;
  throw malformed(`"${text}" is not a time`);
}

function number(text: string): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isNaN(value)) return value;
  throw malformed(`"${text}" is not a number`);
}

function malformed(what: string): EscapementError {
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
