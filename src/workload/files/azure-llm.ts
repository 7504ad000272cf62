import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { type ExactTimes, sortTimes, TimeColumn } from '../exact-times.js';
import type { TokensSpec } from '../spec.js';
import type { AzureLlmLayout } from './layout.js';
import { eachRow, openTable, type Table } from './read-table.js';

/**
 * Reads the times of LLM inference requests (Patel et al., "Splitwise", ISCA 2024), exact to the last
 * of their seven decimals, as offsets from the first. `tokens`: which of them are the length of a request's input; null: none.
 * Throws `E_TRACE_HEADER`, `E_TRACE_VALUE`, and the errors of reading.
 */
export async function readAzureLlm(
  files: InputFiles,
  file: string,
  tokens: TokensSpec | null = null,
): Promise<ExactTimes> {
  return readTimestampTable(await openTable(files, file, 'azure-llm'), tokens);
}

export async function readTimestampTable(
  table: Table<AzureLlmLayout>,
  tokens: TokensSpec | null = null,
): Promise<ExactTimes> {
  const { timestamp } = table.layout;
  const times = new TimeColumn();
  const columns = tokenColumns(table, tokens);
  const lengths = new TimeColumn();
  let originMs = Number.NaN;
  await eachRow(table, (row, line) => {
    const { wholeMs, fraction } = timestampOf(row[timestamp], table.file, line);
    // Nanoseconds since 1970 do not fit a number exactly; since the first row they do.
    if (Number.isNaN(originMs)) originMs = wholeMs;
    times.push((wholeMs - originMs) * NS_PER_MS + Number(fraction.padEnd(9, '0')));
    lengths.push(tokensOf(row, columns, tokens, { file: table.file, line }));
  });
  const timesNs = times.finish();
  const rank = new Int32Array(timesNs.length);
  return sortTimes(table.file, timesNs, rank, 1, tokens === null ? undefined : lengths.finish());
}

const TOKEN_COLUMNS = ['ContextTokens', 'GeneratedTokens'] as const;
/** Which of them are the length. */
const COUNTED = { context: [true, false], generated: [false, true], both: [true, true] } as const;

/** Where the token columns are; −1: there is none of that name. Throws `E_TRACE_HEADER` for one that `tokens` asks for. */
function tokenColumns({ header, file }: Table, tokens: TokensSpec | null): number[] {
  return TOKEN_COLUMNS.map((name, i) => {
    const column = header.indexOf(name);
    if (column >= 0 || tokens === null || !COUNTED[tokens.of][i]) return column;
    const what = `has no column ${name}, which length asks for`;
    throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
  });
}

/** Throws `E_TRACE_VALUE`, also for tokens that are not asked for. A request without any token counts as one of a single token. */
function tokensOf(
  row: readonly string[],
  columns: readonly number[],
  tokens: TokensSpec | null,
  place: { readonly file: string; readonly line: number },
): number {
  let sum = 0;
  for (const [i, column] of columns.entries()) {
    if (column < 0) continue;
    if (!/^\d{1,9}$/.test(row[column])) {
      const what = `"${row[column]}" is not a number of tokens`;
      throw new EscapementError('E_TRACE_VALUE', what, { ...place, key: TOKEN_COLUMNS[i] });
    }
    if (tokens !== null && COUNTED[tokens.of][i]) sum += Number(row[column]);
  }
  return Math.min(tokens?.max ?? Number.POSITIVE_INFINITY, Math.max(1, sum));
}

const TIMESTAMP =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|\+00:?00)?$/;

/** Throws `E_TRACE_VALUE`, also for a day that its month does not have. */
function timestampOf(text: string, file: string, line: number): { wholeMs: number; fraction: string } {
  const match = TIMESTAMP.exec(text);
  if (match !== null) {
    const [year, month, ...rest] = match.slice(1, 7).map(Number) as [number, number, number];
    const wholeMs = Date.UTC(year, month - 1, ...rest);
    if (wholeMs < Date.UTC(year, month, 1)) return { wholeMs, fraction: match[7] ?? '' };
  }
  const what = `"${text}" is not a time: expected one like 2023-11-16 18:17:03.9799600`;
  throw new EscapementError('E_TRACE_VALUE', what, { file, line, key: 'TIMESTAMP' });
}
