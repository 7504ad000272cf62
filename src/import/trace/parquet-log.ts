import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { EscapementError } from '../../base/errors.js';
import { fileProblem } from '../../base/files/disk-files.js';
import { inputPath } from '../../base/files/input-path.js';
import { type BadLine, type Entry, jsonEntry, type OpenLog } from './entry.js';

const ROWS = 65_536;

/** Times in nanoseconds since 1970; a `Date` would have milliseconds. */
const TIMES = {
  timestampFromMilliseconds: (ms: bigint) => String(ms * 1_000_000n),
  timestampFromMicroseconds: (us: bigint) => String(us * 1000n),
  timestampFromNanoseconds: (ns: bigint) => String(ns),
};

/** Opens a Parquet file, of which some rows at a time are in memory. Throws `E_FILE_MISSING` and `E_TRACE_HEADER`. */
export async function openParquet(path: string): Promise<OpenLog> {
  const file = await asyncBufferFromFile(inputPath(path)).catch((error: unknown) => {
    throw fileProblem(error, path);
  });
  const broken = (error: unknown) =>
    new EscapementError('E_TRACE_HEADER', `is not valid Parquet: ${(error as Error).message}`, {
      file: path,
    });
  const metadata = await parquetMetadataAsync(file).catch((error: unknown) => {
    throw broken(error);
  });
  const count = Number(metadata.num_rows);
  async function* entries(): AsyncGenerator<(Entry | BadLine)[]> {
    for (let rowStart = 0; rowStart < count; rowStart += ROWS) {
      const range = { rowStart, rowEnd: Math.min(count, rowStart + ROWS) };
      const rows = await parquetReadObjects({ file, metadata, compressors, parsers: TIMES, ...range }).catch(
        (error: unknown) => {
          throw broken(error);
        },
      );
      yield rows.map((row, i) => jsonEntry({ fields: row }, rowStart + i + 1));
    }
  }
  const fields = parquetSchema(metadata).children.map(({ element }) => element.name);
  return { pattern: null, fields, entries: entries() };
}
