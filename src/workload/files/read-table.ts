import Papa from 'papaparse';
import { EscapementError } from '../../core/errors.js';
import { emptyTrace, noRows } from './layout.js';
import { readBlocks } from './read-blocks.js';

/** Some rows of a CSV file; `line` is the 1-based line of the first. */
export interface RowBlock {
  readonly rows: readonly (readonly string[])[];
  readonly line: number;
}

/** A CSV file whose header was read. `blocks` yields the rest as it is read, blank lines included as `['']`. */
export interface Table {
  readonly file: string;
  readonly header: readonly string[];
  readonly blocks: AsyncGenerator<RowBlock, void, void>;
}

/** Throws what `readBlocks` throws, and `E_TRACE_HEADER` for an empty file. */
export async function openTable(file: string): Promise<Table> {
  const blocks = readRows(file);
  const first = await blocks.next();
  if (first.done) throw emptyTrace(file);
  const [header = [], ...rows] = first.value.rows;
  return {
    file,
    header: header.map((name) => name.trim()),
    blocks: startWith({ rows, line: 2 }, blocks),
  };
}

/**
 * Calls `visit` with every row that is not blank. Throws `E_TRACE_VALUE` for a row that has not as many
 * fields as the header, and for a file without rows.
 */
export async function eachRow(table: Table, visit: (row: readonly string[], line: number) => void): Promise<void> {
  const width = table.header.length;
  let visited = 0;
  for await (const { rows, line } of table.blocks) {
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      if (row.length === 1 && row[0].trim() === '') continue;
      if (row.length !== width) {
        const what = `has ${row.length} fields where the header has ${width}; is the file cut off?`;
        throw new EscapementError('E_TRACE_VALUE', what, { file: table.file, line: line + i });
      }
      visit(row, line + i);
      visited++;
    }
  }
  if (visited === 0) throw noRows(table.file);
}

async function* readRows(file: string): AsyncGenerator<RowBlock, void, void> {
  let line = 1;
  for await (const block of readBlocks(file)) {
    const byteOrderMark = line === 1 && block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf;
    const end = block.at(-2) === 0x0d ? block.length - 2 : block.length - 1;
    const text = block.toString('utf8', byteOrderMark ? 3 : 0, end);
    const rows = text === '' ? [['']] : Papa.parse<string[]>(text, { delimiter: ',' }).data;
    yield { rows, line };
    line += rows.length;
  }
}

async function* startWith(
  first: RowBlock,
  blocks: AsyncGenerator<RowBlock, void, void>,
): AsyncGenerator<RowBlock, void, void> {
  yield first;
  yield* blocks;
}
