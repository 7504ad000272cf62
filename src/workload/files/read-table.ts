import { EscapementError } from '../../base/errors.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { detectLayout, emptyTrace, type Layout, type LayoutOf, noRows, requireLayout } from './layout.js';
import { readBlocks } from './read-blocks.js';

/** A mark that begins a later block is text. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Some rows of a CSV file; `line` is the 1-based line of the first. */
interface RowBlock {
  readonly rows: readonly (readonly string[])[];
  readonly line: number;
}

/** A trace that was opened and recognized by its header. A caller that does not read all of it must call `blocks.return()`. */
export interface Table<L extends Layout = Layout> {
  readonly file: string;
  readonly header: readonly string[];
  readonly layout: L;
  /** What was read together with the header, and the rest as it is read; blank lines are rows `['']`. */
  readonly first: RowBlock;
  readonly blocks: AsyncGenerator<RowBlock, void, void>;
}

/**
 * Opens a trace of the given kind, or of any. Throws what `readBlocks` throws, and `E_TRACE_HEADER` for
 * an empty file, an unknown header, and that of another kind.
 */
export async function openTable(files: InputFiles, file: string): Promise<Table>;
export async function openTable<K extends Layout['kind']>(
  files: InputFiles,
  file: string,
  kind: K,
): Promise<Table<LayoutOf<K>>>;
export async function openTable(files: InputFiles, file: string, kind?: Layout['kind']): Promise<Table> {
  const blocks = readRows(files, file);
  const opened = await blocks.next();
  if (opened.done) throw emptyTrace(file);
  const [titles = [], ...rows] = opened.value.rows;
  const header = titles.map((name) => name.trim());
  try {
    const layout = kind === undefined ? detectLayout(header, file) : requireLayout(kind, header, file);
    return { file, header, layout, first: { rows, line: 2 }, blocks };
  } catch (error) {
    await blocks.return();
    throw error;
  }
}

/**
 * Calls `visit` with every row that is not blank. Throws `E_TRACE_VALUE` for a row that has not as many
 * fields as the header, and for a file without rows.
 */
export async function eachRow(
  table: Table,
  visit: (row: readonly string[], line: number) => void,
): Promise<void> {
  let visited = 0;
  try {
    visited += visitBlock(table, table.first, visit);
    for await (const block of table.blocks) visited += visitBlock(table, block, visit);
  } finally {
    await table.blocks.return();
  }
  if (visited === 0) throw noRows(table.file);
}

function visitBlock(
  { file, header }: Table,
  { rows, line }: RowBlock,
  visit: (row: readonly string[], line: number) => void,
): number {
  let visited = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    if (row.length === 1 && row[0].trim() === '') continue;
    if (row.length !== header.length) {
      const what = `has ${row.length} fields where the header has ${header.length}; is the file cut off?`;
      throw new EscapementError('E_TRACE_VALUE', what, { file, line: line + i });
    }
    visit(row, line + i);
    visited++;
  }
  return visited;
}

async function* readRows(files: InputFiles, file: string): AsyncGenerator<RowBlock, void, void> {
  // When it is needed: a small playground on a page reads no files.
  const { default: Papa } = await import('papaparse');
  let line = 1;
  for await (const block of readBlocks(files, file)) {
    const byteOrderMark = line === 1 && block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf;
    const end = block.at(-2) === 0x0d ? block.length - 2 : block.length - 1;
    const text = UTF8.decode(block.subarray(byteOrderMark ? 3 : 0, end));
    const rows = text === '' ? [['']] : Papa.parse<string[]>(text, { delimiter: ',' }).data;
    yield { rows, line };
    line += rows.length;
  }
}
