import { EscapementError } from '../../base/errors.js';
import { type CsvReader, csvReader, delimiterOf } from '../../base/files/csv-text.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { readBlocks } from '../../workload/files/read-blocks.js';
import { type BadLine, type Entry, type JsonEntry, jsonEntry, type OpenLog } from './entry.js';
import { entriesOf } from './json-documents.js';

/** Lines of text that are known, by name: the groups of each are its fields. */
type LinePatterns = readonly (readonly [name: string, pattern: RegExp])[];

const UTF8 = new TextDecoder();
const MOST_DOCUMENT_BYTES = 1 << 29;
/** Lines at the beginning of a log by which it is recognized. */
const HEAD_LINES = 100;
const HEAD_BYTES = 1 << 16;
const NEWLINE = 0x0a;

/**
 * Opens a log in any format: CSV with a header, a JSON object a line, a JSON document, Parquet, or lines of text of one
 * of `patterns`; compressed if its name ends in `.gz` or `.zst`. Throws the errors of reading, and `E_TRACE_HEADER` for
 * an empty file and for one that no format fits.
 */
export async function openLog(files: InputFiles, path: string, patterns: LinePatterns): Promise<OpenLog> {
  const blocks = readBlocks(files, path);
  const opened = await blocks.next().catch((error: unknown) => {
    // Parquet is no text: it may have no line end for megabytes.
    if (/\.parquet$/i.test(path)) return { done: true, value: undefined } as const;
    throw error;
  });
  const first = opened.done ? new Uint8Array() : opened.value;
  const begin = UTF8.decode(first.subarray(0, Math.max(HEAD_BYTES, first.indexOf(NEWLINE))));
  if (begin.startsWith('PAR1') || (opened.done && /\.parquet$/i.test(path))) {
    await blocks.return();
    const { openParquet } = await import('./parquet-log.js');
    return openParquet(path);
  }
  const lines = linesOf(first, blocks);
  const head = begin
    .split('\n')
    .map((text) => text.trimEnd())
    .filter((text) => text !== '')
    .slice(0, HEAD_LINES);
  const fail = (what: string) => new EscapementError('E_TRACE_HEADER', what, { file: path });
  if (begin.includes('\0')) throw fail('is not text, nor Parquet');
  const [line] = head;
  if (line === undefined) throw fail('is empty');
  // The first line may be a broken one.
  const known = patterns.find(([, pattern]) => head.some((text) => pattern.test(text)));
  if (known !== undefined) {
    const [name, pattern] = known;
    const groups = head.flatMap((text) => Object.entries(pattern.exec(text)?.groups ?? {}));
    const fields = groups.filter(([, text]) => text !== undefined).map(([field]) => field);
    return { pattern: name, fields: [...new Set(fields)], entries: textEntries(lines, pattern) };
  }
  if (/^\s*[[{]/.test(line)) {
    if (entriesIn(line) === null) return openDocument(path, lines);
    // Fields that not every entry has are in one of the first.
    const fields = head.flatMap((text) => entriesIn(text) ?? []).flatMap((each) => Object.keys(each.fields));
    return { pattern: null, fields: [...new Set(fields)], entries: jsonEntries(lines) };
  }
  const delimiter = delimiterOf(line);
  if (delimiter === undefined)
    throw fail(`is neither a table nor a log of ${patterns.map(([known]) => known).join(', ')}`);
  const parse = await csvReader(delimiter);
  const [header = []] = parse(line, fail);
  return { pattern: null, fields: header, entries: csvEntries(lines, header, splitter(delimiter, parse)) };
}

async function* linesOf(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** Results of `read` for every line that is not blank. */
async function* eachLine(
  blocks: AsyncIterable<Uint8Array>,
  read: (text: string, line: number) => Entry | BadLine | readonly Entry[],
): AsyncGenerator<(Entry | BadLine)[]> {
  let line = 1;
  for await (const block of blocks) {
    const texts = UTF8.decode(block).split('\n');
    yield texts.flatMap((text, i) => (text.trim() === '' ? [] : read(text.trimEnd(), line + i)));
    // A block ends with the end of a line.
    line += texts.length - 1;
  }
}

function csvEntries(
  lines: AsyncIterable<Uint8Array>,
  header: readonly string[],
  split: (text: string) => string[],
): AsyncGenerator<(Entry | BadLine)[]> {
  const columns = new Map(header.map((name, column) => [name, column]));
  let isHeader = true;
  return eachLine(lines, (text, line) => {
    if (isHeader) {
      isHeader = false;
      return [];
    }
    let row: string[];
    try {
      row = split(text);
    } catch (error) {
      return { line, why: (error as EscapementError).what };
    }
    if (row.length !== header.length)
      return { line, why: `${row.length} fields where the header has ${header.length}` };
    return { line, field: (name) => row[columns.get(name) ?? -1] };
  });
}

/** Splits a line of CSV into fields. Few lines have quotes, and the parser takes five times as long. */
function splitter(delimiter: string, parse: CsvReader): (text: string) => string[] {
  return (text) =>
    text.includes('"')
      ? parse(text, (what) => new EscapementError('E_TRACE_VALUE', what))[0]!
      : text.split(delimiter).map((field) => field.trim());
}

function textEntries(lines: AsyncIterable<Uint8Array>, pattern: RegExp): AsyncGenerator<(Entry | BadLine)[]> {
  return eachLine(lines, (text, line) => {
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) return { line, why: 'another layout than the other lines' };
    return { line, field: (name) => groups[name] };
  });
}

function jsonEntries(lines: AsyncIterable<Uint8Array>): AsyncGenerator<(Entry | BadLine)[]> {
  return eachLine(lines, (text, line) => {
    const entries = entriesIn(text);
    return entries === null ? { line, why: 'no JSON object' } : entries.map((each) => jsonEntry(each, line));
  });
}

/** Entries of a line of JSON: one, or those of a document; null: it is no JSON object. */
function entriesIn(text: string): readonly JsonEntry[] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return entriesOf(value) ?? [{ fields: value }];
  } catch {
    return null;
  }
}

async function openDocument(path: string, lines: AsyncIterable<Uint8Array>): Promise<OpenLog> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const block of lines) {
    pieces.push(block);
    bytes += block.length;
    if (bytes > MOST_DOCUMENT_BYTES)
      throw new EscapementError(
        'E_TRACE_VALUE',
        `is a JSON document of more than ${MOST_DOCUMENT_BYTES >> 20} MiB`,
        {
          file: path,
        },
      );
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(pieces).toString('utf8'));
  } catch (error) {
    throw new EscapementError('E_TRACE_VALUE', `is not JSON: ${(error as Error).message}`, { file: path });
  }
  const all = entriesOf(value);
  if (all === null) {
    const what =
      'is JSON of an unknown kind; known are a list of objects, spans in OTLP, a Triton trace, and a range result of Prometheus';
    throw new EscapementError('E_TRACE_HEADER', what, { file: path });
  }
  const entries = (async function* () {
    yield all.map((each, i) => jsonEntry(each, i + 1));
  })();
  const names = all.slice(0, HEAD_LINES).flatMap(({ fields }) => Object.keys(fields));
  return { pattern: null, fields: [...new Set(names)], entries };
}
