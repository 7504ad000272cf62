import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { ModelSpec } from '../../core/model.js';
import type { PipelineSpec } from '../../core/pipelines.js';
import { type JournalHeader, parseHeader, parseModel, parsePipeline } from './journal-header.js';

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
  offerPipeline(
    pipeline: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
    counts: Int32Array,
  ): void;
  setCount(slot: number, step: number, count: number): void;
  putPipeline(index: number, spec: PipelineSpec): void;
  /** Trace of the preceding request. */
  trace(traceparent: string): void;
  cancel(slot: number): void;
  result(id: number, status: number, beginNs: number, endNs: number, clock: number): void;
  gpuDown(gpu: number): void;
  gpuUp(gpu: number, models: readonly number[], kind: number): void;
  putModel(model: number, spec: ModelSpec): void;
  setAbsent(model: number, gpus: readonly number[]): void;
  retireModel(model: number): void;
  grow(slots: number): void;
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

/** By first letter of a line: its fields, and the call that it stands for. */
const LINES: Readonly<Record<string, Line>> = {
  o: {
    fields: [5, 7, 8],
    visit: (visitor, [, model, arrival, slo, ...rest]) => {
      const [user, requestClass = 0, tenant = 0, length = 0] = rest.map(index);
      visitor.offer(index(model), time(arrival), number(slo), user, requestClass, tenant, length);
    },
  },
  f: {
    fields: [8],
    isOpen: true,
    visit: (visitor, [, pipeline, arrival, slo, ...rest]) => {
      const [user, requestClass, tenant, ...counts] = rest.map(index);
      const sender = [user, requestClass, tenant] as const;
      visitor.offerPipeline(index(pipeline), time(arrival), number(slo), ...sender, Int32Array.from(counts));
    },
  },
  n: {
    fields: [4],
    visit: (visitor, [, slot, step, count]) => visitor.setCount(index(slot), index(step), number(count)),
  },
  l: {
    fields: [3],
    isOpen: true,
    visit: (visitor, [, pipeline, ...spec]) =>
      visitor.putPipeline(index(pipeline), parsePipeline(spec.join(' '))),
  },
  w: { fields: [2], visit: (visitor, [, trace]) => visitor.trace(trace.slice(0, LONGEST_TRACE_CHARS)) },
  c: { fields: [2], visit: (visitor, [, slot]) => visitor.cancel(index(slot)) },
  r: {
    fields: [6],
    visit: (visitor, [, id, status, begin, end, clock]) =>
      visitor.result(index(id), index(status), time(begin), time(end), number(clock)),
  },
  d: { fields: [2], visit: (visitor, [, gpu]) => visitor.gpuDown(index(gpu)) },
  u: {
    fields: [3],
    isOpen: true,
    visit: (visitor, [, gpu, kind, ...models]) => visitor.gpuUp(index(gpu), models.map(index), index(kind)),
  },
  p: {
    fields: [3],
    isOpen: true,
    visit: (visitor, [, model, ...spec]) => visitor.putModel(index(model), parseModel(spec.join(' '))),
  },
  a: {
    fields: [2],
    isOpen: true,
    visit: (visitor, [, model, ...gpus]) => visitor.setAbsent(index(model), gpus.map(index)),
  },
  t: { fields: [2], visit: (visitor, [, model]) => visitor.retireModel(index(model)) },
  g: { fields: [2], visit: (visitor, [, slots]) => visitor.grow(index(slots)) },
  s: { fields: [2], visit: (visitor, [, now]) => visitor.step(time(now)) },
  // The end, with the digest.
  e: { fields: [2], visit: () => {} },
};

interface Line {
  /** Possible numbers of fields, the smallest first. */
  readonly fields: readonly number[];
  /** True if there may be any larger number. */
  readonly isOpen?: true;
  readonly visit: (visitor: JournalVisitor, fields: readonly string[]) => void;
}

/** Returns the digest if this is the last line. */
function visit(line: string, visitor: JournalVisitor): string | null {
  const fields = line.split(' ');
  const [letter] = fields;
  if (!Object.hasOwn(LINES, letter)) throw malformed(`no line begins with "${letter.slice(0, 20)}"`);
  const { fields: expected, isOpen = false, visit: call } = LINES[letter];
  const isRight = expected.includes(fields.length) || (isOpen && fields.length > expected[0]);
  if (!isRight) throw malformed(`has ${fields.length} fields where a line "${letter}" has ${expected[0]}`);
  call(visitor, fields);
  return letter === 'e' ? fields[1] : null;
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
