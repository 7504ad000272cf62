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
  const columns = tokens === null ? [] : tokenColumns(table, tokens);
  const lengths = new TimeColumn();
  let originMs = Number.NaN;
  await eachRow(table, (row, line) => {
    const match = TIMESTAMP.exec(row[timestamp]);
    const wholeMs =
      match === null
        ? Number.NaN
        : Date.UTC(+match[1], +match[2] - 1, +match[3], +match[4], +match[5], +match[6]);
    if (match === null || Number.isNaN(wholeMs)) throw notATimestamp(row[timestamp], table.file, line);
    // Nanoseconds since 1970 do not fit a number exactly; since the first row they do.
    if (Number.isNaN(originMs)) originMs = wholeMs;
    times.push((wholeMs - originMs) * NS_PER_MS + Number((match[7] ?? '').padEnd(9, '0')));
    if (tokens !== null) lengths.push(tokensOf(row, columns, tokens, { file: table.file, line }));
  });
  const timesNs = times.finish();
  const rank = new Int32Array(timesNs.length);
  return tokens === null ? sortTimes(timesNs, rank, 1) : sortTimes(timesNs, rank, 1, lengths.finish());
}

const TOKEN_COLUMNS = {
  context: ['ContextTokens'],
  generated: ['GeneratedTokens'],
  both: ['ContextTokens', 'GeneratedTokens'],
} as const;

/** Throws `E_TRACE_HEADER` for a trace without them. */
function tokenColumns({ header, file }: Table, { of }: TokensSpec): number[] {
  return TOKEN_COLUMNS[of].map((name) => {
    const column = header.indexOf(name);
    if (column >= 0) return column;
    throw new EscapementError('E_TRACE_HEADER', `has no column ${name}, which length asks for`, {
      file,
      line: 1,
    });
  });
}

/** Throws `E_TRACE_VALUE`. A request without any token counts as one of a single token. */
function tokensOf(
  row: readonly string[],
  columns: readonly number[],
  { of, max = Number.POSITIVE_INFINITY }: TokensSpec,
  place: { readonly file: string; readonly line: number },
): number {
  let sum = 0;
  for (const [i, column] of columns.entries()) {
    const tokens = /^\d{1,9}$/.test(row[column]) ? Number(row[column]) : Number.NaN;
    if (Number.isNaN(tokens)) {
      const what = `"${row[column]}" is not a number of tokens`;
      throw new EscapementError('E_TRACE_VALUE', what, { ...place, key: TOKEN_COLUMNS[of][i] });
    }
    sum += tokens;
  }
  return Math.min(max, Math.max(1, sum));
}

const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:?00)?$/;

function notATimestamp(text: string, file: string, line: number): EscapementError {
  const what = `"${text}" is not a time: expected one like 2023-11-16 18:17:03.9799600`;
  return new EscapementError('E_TRACE_VALUE', what, { file, line, key: 'TIMESTAMP' });
}
