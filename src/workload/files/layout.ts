import { EscapementError } from '../../base/errors.js';
import { type CsvReader, csvReader } from '../../base/files/csv-text.js';
import { Column } from '../../base/grown.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { type ExactTimes, sortTimes } from '../exact-times.js';
import { MAX_COUNT, type MinuteCounts, MinuteCountsBuilder } from '../minute-counts.js';
import type { TokensSpec } from '../spec.js';
import { readBlocks } from './read-blocks.js';

/** Kind of a trace file and positions of its columns, from its header. */
export type Layout = ArrivalsLayout | Azure2019Layout | Azure2021Layout | AzureLlmLayout;

export type LayoutOf<K extends Layout['kind']> = Extract<Layout, { kind: K }>;

interface ArrivalsLayout {
  readonly kind: 'arrivals';
  /** True if a last column holds the length of each input. */
  readonly lengths: boolean;
}

interface Azure2019Layout {
  readonly kind: 'azure-2019';
  /** Column of the first minute, number of minutes, and label of the first. */
  readonly column: number;
  readonly minutes: number;
  readonly firstMinute: number;
}

interface Azure2021Layout {
  readonly kind: 'azure-2021';
  readonly app: number;
  readonly func: number;
  readonly end: number;
  readonly duration: number;
}

interface AzureLlmLayout {
  readonly kind: 'azure-llm';
  readonly timestamp: number;
}

export const ARRIVALS_HEADER = ['arrival_ns', 'model_id', 'slo_ns'] as const;
/** Name of the optional last column. */
export const LENGTH_COLUMN = 'length';

const KNOWN: Readonly<Record<Layout['kind'], string>> = {
  arrivals: `${ARRIVALS_HEADER.join(',')}[,${LENGTH_COLUMN}]`,
  'azure-2019': 'HashOwner,HashApp,HashFunction,Trigger,1..1440',
  'azure-2021': 'app,func,end_timestamp,duration',
  'azure-llm': 'TIMESTAMP,ContextTokens,GeneratedTokens',
};

/** Recognizes a trace by its header; throws `E_TRACE_HEADER` that names the known ones. */
function detectLayout(header: readonly string[], file: string): Layout {
  const layout =
    arrivalsLayout(header) ?? azure2019Layout(header, file) ?? azure2021Layout(header) ?? llmLayout(header);
  if (layout !== null) return layout;
  const what = `unknown header "${shown(header)}"; known are ${knownHeaders()}`;
  throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
}

/** Error for a file with nothing after its header. */
export function noRows(file: string): EscapementError {
  return new EscapementError('E_TRACE_VALUE', 'has a header and no rows', { file });
}

function knownHeaders(): string {
  return Object.entries(KNOWN)
    .map(([kind, header]) => `${header} (${kind})`)
    .join(', ');
}

function shown(header: readonly string[]): string {
  const text = header.slice(0, 6).join(',');
  return header.length > 6 || text.length > 120 ? `${text.slice(0, 120)},…` : text;
}

function arrivalsLayout(header: readonly string[]): ArrivalsLayout | null {
  const lengths = header.length === ARRIVALS_HEADER.length + 1 && header.at(-1) === LENGTH_COLUMN;
  const columns = header.length - (lengths ? 1 : 0);
  const same = columns === ARRIVALS_HEADER.length && ARRIVALS_HEADER.every((name, i) => name === header[i]);
  return same ? { kind: 'arrivals', lengths } : null;
}

function azure2019Layout(header: readonly string[], file: string): Azure2019Layout | null {
  if (!header.includes('HashFunction')) return null;
  const minuteOf = header.map(minuteNumber);
  const column = minuteOf.findIndex((minute) => minute !== null);
  if (column < 0) return null;
  const labels = minuteOf.slice(column);
  for (let i = 0; i < labels.length; i++) {
    if (labels[i] === labels[0]! + i) continue;
    const what = `the minutes must be the last columns and ascend one by one; found "${header[column + i]}" after "${header[column + i - 1]}"`;
    throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
  }
  return { kind: 'azure-2019', column, minutes: labels.length, firstMinute: labels[0]! };
}

/** Number of a minute column: `17`, `minute_17` and `17_minute` are all in use. */
function minuteNumber(name: string): number | null {
  const match = /^(?:minute_(\d+)|(\d+)_minute|(\d+))$/.exec(name);
  return match === null ? null : Number(match[1] ?? match[2] ?? match[3]);
}

function azure2021Layout(header: readonly string[]): Azure2021Layout | null {
  const [app, func, end, duration] = KNOWN['azure-2021'].split(',').map((name) => header.indexOf(name));
  return Math.min(app, func, end, duration) < 0 ? null : { kind: 'azure-2021', app, func, end, duration };
}

function llmLayout(header: readonly string[]): AzureLlmLayout | null {
  const timestamp = header.indexOf('TIMESTAMP');
  return timestamp < 0 ? null : { kind: 'azure-llm', timestamp };
}

const NEWLINE = 0x0a;
/** Removes a byte order mark at the start of the file. */
const FIRST_LINE = new TextDecoder();
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** First characters of files that are packed, or hold something other than a table. */
const FOREIGN = ['\x1f\x8b', 'PK\x03', 'BZh', 'PAR1', '{', '['];

/** A trace opened and recognized by its header. A caller that does not read all of it must call `rest.return()`. */
export interface Table<L extends Layout = Layout> {
  readonly file: string;
  readonly header: readonly string[];
  readonly layout: L;
  /** Whole lines below the header: those read together with it, and the others as they are read. */
  readonly first: Uint8Array;
  readonly rest: AsyncGenerator<Uint8Array, void, void>;
  /** Rows of some of these lines; `line` is the number of the first. Throws `E_TRACE_VALUE`. */
  rowsOf(lines: Uint8Array, line: number): string[][];
}

/**
 * Opens a trace of the given kind, or of any: the only way to open a trace, so that all commands read it alike. Throws
 * the errors of `readBlocks`, and `E_TRACE_HEADER` for an empty file, an unknown header, and one of another kind.
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
  if (opened.done)
    throw new EscapementError('E_TRACE_HEADER', `is empty; known headers are ${knownHeaders()}`, { file });
  try {
    const end = opened.value.indexOf(NEWLINE) + 1;
    checkText(opened.value, file);
    const failAt = (what: string) => new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
    const [header = []] = parse(FIRST_LINE.decode(opened.value.subarray(0, end)), failAt);
    const layout = detectLayout(header, file);
    if (kind !== undefined && layout.kind !== kind)
      throw failAt(`is a trace of kind ${layout.kind}, but ${kind} was asked for (header ${KNOWN[kind]})`);
    return { file, header, layout, first: opened.value.subarray(end), rest, rowsOf: rowsIn(file, parse) };
  } catch (error) {
    await rest.return();
    throw error;
  }
}

/** Throws `E_TRACE_HEADER` for archives and other files that are not text tables. */
function checkText(begin: Uint8Array, file: string): void {
  const latin1 = String.fromCharCode(...begin.subarray(0, 512));
  if (!latin1.includes('\0') && !FOREIGN.some((magic) => latin1.startsWith(magic))) return;
  const what =
    'is not a table as UTF-8 text: give a file packed with gzip a name that ends in .gz, and turn JSON, Parquet and .zst into one with escapement import trace';
  throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
}

function rowsIn(file: string, parse: CsvReader): Table['rowsOf'] {
  return (lines, line) =>
    parse(
      UTF8.decode(lines),
      (what, row) => new EscapementError('E_TRACE_VALUE', what, { file, line: line + row }),
    );
}

/**
 * Calls `visit` with every row that is not blank. Throws `E_TRACE_VALUE` for a row with a different number of fields
 * than the header, and for a file without rows.
 */
async function eachRow(
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

/** Throws `E_TRACE_VALUE` for a row with a different number of fields than the header. */
export function checkFields(
  row: readonly string[],
  columns: number,
  place: { readonly file: string; readonly line: number },
): void {
  if (row.length === columns) return;
  const cut = row.length < columns ? '; is the file cut off?' : '';
  const what = `has ${row.length} fields where the header has ${columns}${cut}`;
  throw new EscapementError('E_TRACE_VALUE', what, place);
}

/**
 * Reads invocations per function and minute (Shahrad et al., "Serverless in the Wild", ATC 2020), in any of the column
 * orders and minute names in circulation, compressed or not. A row is a function. Throws `E_TRACE_HEADER`,
 * `E_TRACE_VALUE`, and the errors of reading.
 */
export async function readAzure2019(files: InputFiles, file: string): Promise<MinuteCounts> {
  return readMinuteTable(await openTable(files, file, 'azure-2019'));
}

export async function readMinuteTable(table: Table<Azure2019Layout>): Promise<MinuteCounts> {
  const { column, minutes, firstMinute } = table.layout;
  const trigger = table.header.indexOf('Trigger');
  const builder = new MinuteCountsBuilder();
  // One shared string per kind of trigger: a substring of the file would keep its whole block in memory.
  const triggers = new Map<string, string>();
  await eachRow(table, (row, line) => {
    const name = row[trigger];
    if (name !== undefined && !triggers.has(name)) triggers.set(name, name);
    builder.beginFunction(name && triggers.get(name));
    for (let minute = 0; minute < minutes; minute++) {
      const text = row[column + minute];
      // True of four fields in five.
      if (text === '0') continue;
      const count = parseCount(text);
      if (count < 0) throw notACount(text, table, line, table.header[column + minute]);
      if (count > 0) builder.add(minute, count);
    }
  });
  return builder.finish(minutes, firstMinute);
}

function parseCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : -1;
  return count <= MAX_COUNT ? count : -1;
}

function notACount(text: string, table: Table, line: number, column: string): EscapementError {
  const what = `"${text}" is not a count: expected a whole number from 0 to ${MAX_COUNT}`;
  return new EscapementError('E_TRACE_VALUE', what, { file: table.file, line, key: column });
}

/**
 * Reads invocations with exact times (Zhang et al., SOSP 2021). Rows are ordered by their end; the
 * arrival is end − duration. A function is a pair of app and func.
 * Throws `E_TRACE_HEADER`, `E_TRACE_VALUE`, and the errors of reading.
 */
export async function readAzure2021(files: InputFiles, file: string): Promise<ExactTimes> {
  return readInvocationTable(await openTable(files, file, 'azure-2021'));
}

export async function readInvocationTable(table: Table<Azure2021Layout>): Promise<ExactTimes> {
  const layout = table.layout;
  const begins = new Column(Float64Array);
  const fns = new Column(Int32Array);
  const known = new Map<string, number>();
  await eachRow(table, (row, line) => {
    const endS = seconds(row[layout.end], table.file, line, 'end_timestamp');
    const durationS = seconds(row[layout.duration], table.file, line, 'duration');
    begins.push(Math.round((endS - durationS) * NS_PER_S));
    const name = nameOf(row, layout, table.file, line);
    if (!known.has(name)) known.set(name, known.size);
    fns.push(known.get(name)!);
  });
  return sortTimes(table.file, begins.finish(), fns.finish(), known.size);
}

/** Unique name of a pair of app and func. */
function nameOf(row: readonly string[], { app, func }: Azure2021Layout, file: string, line: number): string {
  for (const [key, column] of Object.entries({ app, func }))
    if (row[column] === '') throw new EscapementError('E_TRACE_VALUE', 'is empty', { file, line, key });
  return `${row[app]}\n${row[func]}`;
}

/** Limit on times: whole nanoseconds reach 104 days; of seconds since 1970, only differences count. */
const MOST_SECONDS = 1e10;

function seconds(text: string, file: string, line: number, key: string): number {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (value <= MOST_SECONDS) return value;
  const what = `"${text}" is not a time: expected seconds, from 0 to ${MOST_SECONDS}`;
  throw new EscapementError('E_TRACE_VALUE', what, { file, line, key });
}

/** Small values are written as 7.15e-07. */
const DECIMAL = /^(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i;

/**
 * Reads the times of LLM inference requests (Patel et al., "Splitwise", ISCA 2024), exact to the last of their seven
 * decimals, as offsets from the first. `tokens`: which token columns make up the length of a request's input; null:
 * none. Throws `E_TRACE_HEADER`, `E_TRACE_VALUE`, and the errors of reading.
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
  const times = new Column(Float64Array);
  const columns = tokenColumns(table, tokens);
  const lengths = new Column(Float64Array);
  let originMs = Number.NaN;
  await eachRow(table, (row, line) => {
    const { wholeMs, fraction } = timestampOf(row[timestamp], table.file, line);
    // Nanoseconds since 1970 exceed the exact range of a number; since the first row they fit.
    if (Number.isNaN(originMs)) originMs = wholeMs;
    times.push((wholeMs - originMs) * NS_PER_MS + Number(fraction.padEnd(9, '0')));
    lengths.push(tokensOf(row, columns, tokens, { file: table.file, line }));
  });
  const timesNs = times.finish();
  const rank = new Int32Array(timesNs.length);
  return sortTimes(table.file, timesNs, rank, 1, tokens === null ? undefined : lengths.finish());
}

const TOKEN_COLUMNS = ['ContextTokens', 'GeneratedTokens'] as const;
/** Token columns that count as the length. */
const COUNTED = { context: [true, false], generated: [false, true], both: [true, true] } as const;

/** Positions of the token columns; −1: missing. Throws `E_TRACE_HEADER` for a missing one that `tokens` needs. */
function tokenColumns({ header, file }: Table, tokens: TokensSpec | null): number[] {
  return TOKEN_COLUMNS.map((name, i) => {
    const column = header.indexOf(name);
    if (column >= 0 || tokens === null || !COUNTED[tokens.of][i]) return column;
    const what = `has no column ${name}, which length asks for`;
    throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
  });
}

/**
 * Length of a request; one without any token counts as a single token. Throws `E_TRACE_VALUE`, also for unused token
 * columns.
 */
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

/** Parses a timestamp. Throws `E_TRACE_VALUE`, also for a day that its month does not have. */
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
