import { EscapementError } from '../base/errors.js';
import { csvReader } from '../base/files/csv-text.js';
import { suggestion } from '../base/nearest.js';
import { DEFAULT_PAGE_BYTES } from '../base/units.js';
import { checkModel, type ModelSpec } from '../core/model.js';
import type { ExperimentHost } from './experiment-host.js';

/** Columns that a models file must have, besides those of batch sizes, and the least value of each. */
const COLUMNS = { weights_bytes: 1, weights_transfer_ns: 1, input_bytes: 0, output_bytes: 0 } as const;
const REQUIRED = ['model_id', ...Object.keys(COLUMNS), 'b1_ns'];
const OF_BATCH = /^b([1-9]\d*)_ns$/;

/** Columns of a models file, for people. */
export const CSV_COLUMNS = `${REQUIRED.join(', ')}, b2_ns … (INFERs by batch size; empty: not measured) and, if known, pages (of 16 MiB)`;

/**
 * Models of a CSV with a row for each. A model is named by the text of its cell. Throws `E_FILE_MISSING`, and
 * `E_PROFILE` with file, line and column.
 */
export async function readModelsCsv(
  path: string,
  pageBytes: number,
  host: ExperimentHost,
): Promise<ModelSpec[]> {
  return parseModelsCsv(await host.input.text(host.locate(path)), path, pageBytes);
}

export async function parseModelsCsv(text: string, file: string, pageBytes: number): Promise<ModelSpec[]> {
  const problem = (what: string, line: number, key?: string) =>
    new EscapementError('E_PROFILE', what, { file, line, ...(key === undefined ? {} : { key }) });
  const read = await csvReader();
  const [header = [], ...rows] = read(text.replace(/^\uFEFF/, ''), (what, row) => problem(what, row + 1));
  checkHeader(header, (what, title) => problem(what, 1, title));
  const models = rows.flatMap((row, i): ModelSpec[] => {
    const fail = (what: string, key?: string) => problem(what, i + 2, key);
    if (row.every((cell) => cell === '')) return [];
    if (row.length !== header.length)
      throw fail(`has ${row.length} fields, and the header names ${header.length}`);
    const cells = new Map(header.map((title, at) => [title, row[at]!]));
    return [checkModel(specOf(cells, pageBytes, fail))];
  });
  if (models.length === 0) throw new EscapementError('E_PROFILE', 'has a header and no models', { file });
  return models;
}

type Fail = (what: string, key?: string) => EscapementError;

function checkHeader(header: readonly string[], fail: Fail): void {
  const known = [...REQUIRED, 'pages'];
  for (const [at, title] of header.entries()) {
    if (!known.includes(title) && !OF_BATCH.test(title)) {
      const what = `unknown column: ${suggestion(title, known)}; for tables of other kinds: escapement import profiles`;
      throw fail(what, title);
    }
    if (header.indexOf(title) < at) throw fail('is there twice', title);
  }
  const missing = REQUIRED.find((title) => !header.includes(title));
  if (missing !== undefined) throw fail('the column is missing', missing);
}

function specOf(cells: ReadonlyMap<string, string>, pageBytes: number, fail: Fail): ModelSpec {
  const number = (title: string, least = 1) => {
    const cell = cells.get(title)!;
    const value = /^\d+$/.test(cell) ? Number(cell) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    const found = cell.length > 40 ? `${cell.slice(0, 40)}…` : cell;
    throw fail(`must be a whole number of at least ${least}, found "${found}"`, title);
  };
  const name = cells.get('model_id')!;
  if (name === '' || /\p{Cc}/u.test(name))
    throw fail('must be a name without control characters', 'model_id');
  const sizes = [...cells].flatMap(([title, cell]) => {
    const [, batch] = OF_BATCH.exec(title) ?? [];
    return batch === undefined || (cell === '' && batch !== '1')
      ? []
      : [[Number(batch), number(title)] as const];
  });
  sizes.sort(([a], [b]) => a - b);
  const [weightsBytes, loadNs, inputBytes, outputBytes] = Object.entries(COLUMNS).map(([title, least]) =>
    number(title, least),
  ) as [number, number, number, number];
  // The column counts pages of 16 MiB; other page sizes are set by the experiment.
  const counts = pageBytes === DEFAULT_PAGE_BYTES && (cells.get('pages') ?? '') !== '';
  return {
    ...{ name, weightsBytes, loadNs, inputBytes, outputBytes },
    pages: counts ? number('pages') : Math.ceil(weightsBytes / pageBytes),
    batchSizes: sizes.map(([batch]) => batch),
    execNs: sizes.map(([, ns]) => ns),
  };
}
