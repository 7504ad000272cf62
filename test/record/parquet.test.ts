import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeParquet } from '../../src/record/parquet.js';
import { runOk, tempDir, words, writeIn } from '../cli/run-cli.js';
import { pythonWith } from '../python.js';

const SCALED = `seed: 1
cluster: { gpus: [{ kind: t4, count: 1, min: 1, max: 4, memory: 16GiB, price: 0.35/h, start: 1s }] }
models: { kind: fit, name: model, parameters: 25.6M, copies: 15 }
workload: { kind: poisson, rate: 400/s, duration: 2s }
slo: 25ms
policy: { kind: escapement }
scaler: { kind: reactive }
`;
const LOGS = ['actions', 'gpus', 'requests'];

describe('--parquet', () => {
  const dir = tempDir();
  const out = join(dir, 'out');
  const file = writeIn(dir, 'scaled.yaml', SCALED);
  beforeAll(() => runOk(words`simulate ${file} --parquet --out ${out} --quiet`));

  it.each(LOGS)('writes %s.parquet with the numbers of the text, whole ones as int64', async (log) => {
    const [header = [], ...lines] = textRows(join(out, `${log}.tsv`));
    const { schema, rows } = await readParquet(join(out, `${log}.parquet`));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(lines.map((line) => line.map(Number)));
    expect(schema).toEqual(
      header.map((name) => [name, /^(?:slo_factor|worker_gpu_clock)$/.test(name) ? 'DOUBLE' : 'INT64']),
    );
  });

  it.for(LOGS)('writes %s.parquet so that pandas reads the same table', (log, { skip }) => {
    const python = pythonWith('pandas', 'pyarrow');
    if (python === undefined) return skip('no Python with pandas and pyarrow is installed');
    const script = `import pandas, sys
text, parquet = sys.argv[1:]
table = pandas.read_parquet(parquet)
pandas.testing.assert_frame_equal(table, pandas.read_csv(text, sep="\\t").astype(table.dtypes))`;
    const files = ['tsv', 'parquet'].map((type) => join(out, `${log}.${type}`));
    const { status, stderr } = spawnSync(python, ['-c', script, ...files], { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});

describe('writeParquet', () => {
  it('encodes a group of rows at a time, however long the log is', async () => {
    const dir = tempDir();
    const rows = Array.from({ length: 100_001 }, (_, i) => [Number.MAX_SAFE_INTEGER - i, -1 - i, i / 8]);
    const text = [['large', 'below', 'part'], ...rows].map((row) => `${row.join('\t')}\n`).join('');
    const columns = [
      { name: 'large', unit: 'ns', describe: '' },
      { name: 'below', describe: '' },
      { name: 'part', unit: 'ratio', describe: '' },
    ] as const;
    await writeParquet({ path: writeIn(dir, 'long.tsv', text), columns });
    const read = await readParquet(join(dir, 'long.parquet'));
    expect(read.groups).toEqual([50_000, 50_000, 1]);
    expect(read.rows).toEqual(rows);
    expect(readdirSync(dir).sort()).toEqual(['long.parquet', 'long.tsv']);
  });
});

function textRows(path: string): string[][] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => line.split('\t'));
}

/** A table as a reader finds it: names and types of the columns, rows of each group, and all numbers. */
async function readParquet(path: string) {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const schema = metadata.schema.slice(1).map(({ name, type }) => [name, type] as const);
  const objects = await parquetReadObjects({ file });
  return {
    schema,
    groups: metadata.row_groups.map((group) => Number(group.num_rows)),
    rows: objects.map((row) => schema.map(([name]) => Number(row[name]))),
  };
}
