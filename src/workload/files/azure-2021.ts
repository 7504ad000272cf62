import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { type ExactTimes, sortTimes, TimeColumn } from '../exact-times.js';
import type { Azure2021Layout } from './layout.js';
import { eachRow, openTable, type Table } from './read-table.js';

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
  const begins = new TimeColumn();
  const fns = new TimeColumn();
  const known = new Map<string, number>();
  await eachRow(table, (row, line) => {
    const endS = seconds(row[layout.end], table.file, line, 'end_timestamp');
    const durationS = seconds(row[layout.duration], table.file, line, 'duration');
    begins.push(Math.round((endS - durationS) * NS_PER_S));
    const name = nameOf(row, layout, table.file, line);
    let fn = known.get(name);
    if (fn === undefined) {
      fn = known.size;
      known.set(name, fn);
    }
    fns.push(fn);
  });
  return sortTimes(table.file, begins.finish(), Int32Array.from(fns.finish()), known.size);
}

/** One name per pair of app and func. */
function nameOf(row: readonly string[], { app, func }: Azure2021Layout, file: string, line: number): string {
  for (const [key, column] of Object.entries({ app, func }))
    if (row[column] === '') throw new EscapementError('E_TRACE_VALUE', 'is empty', { file, line, key });
  return `${row[app]}\n${row[func]}`;
}

/** The largest that whole nanoseconds can count is 104 days; seconds since 1970 are larger, but only their differences count. */
const MOST_SECONDS = 1e10;

function seconds(text: string, file: string, line: number, key: string): number {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (value <= MOST_SECONDS) return value;
  const what = `"${text}" is not a time: expected seconds, from 0 to ${MOST_SECONDS}`;
  throw new EscapementError('E_TRACE_VALUE', what, { file, line, key });
}

/** Small values are written as 7.15e-07. */
const DECIMAL = /^(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i;
