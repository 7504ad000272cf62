import { EscapementError } from '../../base/errors.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { MAX_COUNT, type MinuteCounts, MinuteCountsBuilder } from '../minute-counts.js';
import type { Azure2019Layout } from './layout.js';
import { eachRow, openTable, type Table } from './read-table.js';

/**
 * Reads invocations per function and minute (Shahrad et al., "Serverless in the Wild", ATC 2020), in any
 * of the column orders and minute names in circulation, packed or not. A row is a function.
 * Throws `E_TRACE_HEADER`, `E_TRACE_VALUE`, and the errors of reading.
 */
export async function readAzure2019(files: InputFiles, file: string): Promise<MinuteCounts> {
  return readMinuteTable(await openTable(files, file, 'azure-2019'));
}

export async function readMinuteTable(table: Table<Azure2019Layout>): Promise<MinuteCounts> {
  const { column, minutes, firstMinute } = table.layout;
  const trigger = table.header.indexOf('Trigger');
  const builder = new MinuteCountsBuilder();
  // One string a kind of trigger: a substring of the file keeps the block that it was cut from in memory.
  const triggers = new Map<string, string>();
  await eachRow(table, (row, line) => {
    if (trigger < 0) builder.beginFunction();
    else builder.beginFunction(triggers.get(row[trigger]) ?? intern(row[trigger], triggers));
    for (let minute = 0; minute < minutes; minute++) {
      const text = row[column + minute];
      // Four of five fields are this one.
      if (text === '0') continue;
      const count = parseCount(text);
      if (count < 0) throw notACount(text, table, line, table.header[column + minute]);
      if (count > 0) builder.add(minute, count);
    }
  });
  return builder.finish(minutes, firstMinute);
}

function intern(text: string, known: Map<string, string>): string {
  known.set(text, text);
  return text;
}

function parseCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : -1;
  return count <= MAX_COUNT ? count : -1;
}

function notACount(text: string, table: Table, line: number, column: string): EscapementError {
  const what = `"${text}" is not a count: expected a whole number from 0 to ${MAX_COUNT}`;
  return new EscapementError('E_TRACE_VALUE', what, { file: table.file, line, key: column });
}
