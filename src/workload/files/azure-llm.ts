import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import type { InputFiles } from '../../base/world/input-files.js';
import { type ExactTimes, sortTimes, TimeColumn } from '../exact-times.js';
import type { AzureLlmLayout } from './layout.js';
import { eachRow, openTable, type Table } from './read-table.js';

/**
 * Reads the times of LLM inference requests (Patel et al., "Splitwise", ISCA 2024), exact to the last
 * of their seven decimals, as offsets from the first. Tokens are not used.
 * Throws `E_TRACE_HEADER`, `E_TRACE_VALUE`, and the errors of reading.
 */
export async function readAzureLlm(files: InputFiles, file: string): Promise<ExactTimes> {
  return readTimestampTable(await openTable(files, file, 'azure-llm'));
}

export async function readTimestampTable(table: Table<AzureLlmLayout>): Promise<ExactTimes> {
  const { timestamp } = table.layout;
  const times = new TimeColumn();
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
  });
  const timesNs = times.finish();
  return sortTimes(timesNs, new Int32Array(timesNs.length), 1);
}

const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:?00)?$/;

function notATimestamp(text: string, file: string, line: number): EscapementError {
  const what = `"${text}" is not a time: expected one like 2023-11-16 18:17:03.9799600`;
  return new EscapementError('E_TRACE_VALUE', what, { file, line, key: 'TIMESTAMP' });
}
