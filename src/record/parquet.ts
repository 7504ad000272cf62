import { setImmediate } from 'node:timers/promises';
import { ByteWriter, type ColumnSource, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import { LogReader } from '../base/files/log-reader.js';
import { OutputFile } from '../base/files/output-file.js';
import type { LogFile } from './logs.js';

/** Rows encoded, and held in memory, at a time. */
const GROUP_ROWS = 50_000;

/** Writes a Parquet copy of a closed log next to it, with typed columns. Throws `E_FILE_WRITE`. */
export async function writeParquet({ path, columns }: Pick<LogFile, 'path' | 'columns'>): Promise<void> {
  const names = columns.map(({ name }) => name);
  const data = columns.map(({ unit }) => new (unit === 'ratio' ? Float64Array : BigInt64Array)(GROUP_ROWS));
  const group = (rows: number): ColumnSource[] =>
    data.map((values, i) => ({
      name: names[i],
      type: values instanceof Float64Array ? 'DOUBLE' : 'INT64',
      nullable: false,
      data: values.subarray(0, rows),
    }));
  const log = new LogReader(path, names);
  const file = new OutputFile(path.replace(/\.tsv$/, '.parquet'));
  const bytes = new ByteWriter();
  const flush = () => {
    file.write(bytes.getBytes());
    bytes.index = 0;
  };
  try {
    const parquet = new ParquetWriter({
      writer: Object.assign(bytes, { flush, finish: flush }),
      schema: schemaFromColumnData({ columnData: group(0) }),
      createdBy: 'escapement',
    });
    for (let rows = GROUP_ROWS; rows === GROUP_ROWS; ) {
      for (rows = 0; rows < GROUP_ROWS && log.next(); rows++) {
        data.forEach((values, i) => {
          if (values instanceof Float64Array) values[rows] = log.values[i];
          else values[rows] = BigInt(log.values[i]);
        });
      }
      parquet.write({ columnData: group(rows), rowGroupSize: GROUP_ROWS });
      // Gives Ctrl-C a chance.
      await setImmediate();
    }
    parquet.finish();
    file.close();
  } finally {
    log.close();
    file.discard();
  }
}
