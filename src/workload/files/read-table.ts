import { EscapementError } from '../../base/errors.js';
import { type CsvReader, csvReader } from '../../base/files/csv-text.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { detectLayout, emptyTrace, type Layout, type LayoutOf, noRows, requireLayout } from './layout.js';
import { readBlocks } from './read-blocks.js';

const NEWLINE = 0x0a;
/** Removes a byte order mark; one within the file is text. */
const FIRST_LINE = new TextDecoder();
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** What a file is that begins like this. */
const FOREIGN: readonly (readonly [begin: string, what: string])[] = [
  ['\x1f\x8b', 'is packed with gzip: give it a name that ends in .gz'],
  ['PK\x03\x04', 'is a zip archive: unpack it'],
  ['\x28\xb5\x2f\xfd', 'is packed with Zstandard: unpack it, or pack it with gzip'],
  ['\xfd7zXZ', 'is packed with xz: unpack it, or pack it with gzip'],
  ['BZh', 'is packed with bzip2: unpack it, or pack it with gzip'],
  ['PAR1', 'is a Parquet file: export it as CSV'],
  ['\xff\xfe', 'is text in UTF-16: save it as UTF-8'],
  ['\xfe\xff', 'is text in UTF-16: save it as UTF-8'],
  ['{', 'is JSON: export it as CSV'],
  ['[', 'is JSON: export it as CSV'],
];

/** A trace that was opened and recognized by its header. A caller that does not read all of it must call `rest.return()`. */
export interface Table<L extends Layout = Layout> {
  readonly file: string;
  readonly header: readonly string[];
  readonly layout: L;
  /** Whole lines below the header: those that were read together with it, and the others as they are read. */
  readonly first: Uint8Array;
  readonly rest: AsyncGenerator<Uint8Array, void, void>;
  /** Rows of some of these lines; `line` is the number of the first. Throws `E_TRACE_VALUE`. */
  rowsOf(lines: Uint8Array, line: number): string[][];
}

/**
 * Opens a trace of the given kind, or of any: the only way into a trace, so that all commands read the same. Throws what
 * `readBlocks` throws, and `E_TRACE_HEADER` for an empty file, an unknown header, and that of another kind.
 */
export async function openTable(files: InputFiles, file: string): Promise<Table>;
export async function openTable<K extends Layout['kind']>(
  files: InputFiles,
  file: string,
  kind: K,
): Promise<Table<LayoutOf<K>>>;
export async function openTable(files: InputFiles, file: string, kind?: Layout['kind']): Promise<Table> {
  const parse = await csvReader();
  const rest = readBlocks(files, file);
  const opened = await rest.next();
  if (opened.done) throw emptyTrace(file);
  try {
    const end = opened.value.indexOf(NEWLINE) + 1;
    checkText(opened.value, file);
    const failAt = (what: string) => new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
    const [header = []] = parse(FIRST_LINE.decode(opened.value.subarray(0, end)), failAt);
    const layout = kind === undefined ? detectLayout(header, file) : requireLayout(kind, header, file);
    return { file, header, layout, first: opened.value.subarray(end), rest, rowsOf: rowsIn(file, parse) };
  } catch (error) {
    await rest.return();
    throw error;
  }
}

/** Throws `E_TRACE_HEADER` for archives and whatever else is no table of text. */
function checkText(begin: Uint8Array, file: string): void {
  const latin1 = String.fromCharCode(...begin.subarray(0, 512));
  const foreign = FOREIGN.find(([magic]) => latin1.startsWith(magic))?.[1];
  if (foreign === undefined && !latin1.includes('\0')) return;
  throw new EscapementError('E_TRACE_HEADER', foreign ?? 'is not text: a trace is CSV', { file, line: 1 });
}

function rowsIn(file: string, parse: CsvReader): Table['rowsOf'] {
  return (lines, line) =>
    parse(
      UTF8.decode(lines),
      (what, row) => new EscapementError('E_TRACE_VALUE', what, { file, line: line + row }),
    );
}

/**
 * Calls `visit` with every row that is not blank. Throws `E_TRACE_VALUE` for a row that has not as many
 * fields as the header, and for a file without rows.
 */
export async function eachRow(
  { file, header, first, rest, rowsOf }: Table,
  visit: (row: readonly string[], line: number) => void,
): Promise<void> {
  let line = 2;
  let visited = 0;
  const visitAll = (lines: Uint8Array) => {
    for (const row of rowsOf(lines, line)) {
      if (!isBlank(row)) {
        checkFields(row, header.length, { file, line });
        visit(row, line);
        visited++;
      }
      line++;
    }
  };
  try {
    visitAll(first);
    for await (const lines of rest) visitAll(lines);
  } finally {
    await rest.return();
  }
  if (visited === 0) throw noRows(file);
}

export function isBlank(row: readonly string[]): boolean {
  return row.length === 1 && row[0] === '';
}

/** Throws `E_TRACE_VALUE` for a row that has not as many fields as the header. */
export function checkFields(
  row: readonly string[],
  columns: number,
  place: { readonly file: string; readonly line: number },
): void {
  if (row.length === columns) return;
  const what = `has ${row.length} fields where the header has ${columns}; is the file cut off?`;
  throw new EscapementError('E_TRACE_VALUE', what, place);
}
