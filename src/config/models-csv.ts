import { EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { DEFAULT_PAGE_BYTES } from '../base/units.js';
import { checkModel, type ModelSpec } from '../core/model.js';
import type { ExperimentHost } from './experiment-host.js';

/**
 * Models from a CSV with a row a model and the columns `model_id, weights_bytes, weights_transfer_ns,
 * b1_ns, b2_ns, … , input_bytes, output_bytes`, in any order; `pages` (of 16 MiB) may be given and is
 * else computed. A model is named by the text of its model_id. Throws `E_FILE_MISSING`, and `E_PROFILE`
 * with file, line and column.
 */
export async function readModelsCsv(
  path: string,
  pageBytes: number,
  host: ExperimentHost,
): Promise<ModelSpec[]> {
  return parseModelsCsv(await host.input.text(host.locate(path)), path, pageBytes);
}

export async function parseModelsCsv(text: string, file: string, pageBytes: number): Promise<ModelSpec[]> {
  const { default: Papa } = await import('papaparse');
  const [header = [], ...rows] = Papa.parse<string[]>(text.replace(/^\uFEFF/, ''), { delimiter: ',' }).data;
  const columns = header.map((name) => name.trim());
  checkHeader(columns, file);
  const batches = columns
    .filter((name) => BATCH_COLUMN.test(name))
    .map(batchOf)
    .sort((a, b) => a - b);
  const models: ModelSpec[] = [];
  rows.forEach((row, i) => {
    if (row.length === 1 && row[0]!.trim() === '') return;
    models.push(readRow(row, columns, batches, { file, line: i + 2 }, pageBytes));
  });
  if (models.length === 0) throw new EscapementError('E_PROFILE', 'has a header and no models', { file });
  return models;
}

const REQUIRED = ['model_id', 'weights_bytes', 'weights_transfer_ns', 'b1_ns', 'input_bytes', 'output_bytes'];
const BATCH_COLUMN = /^b(\d+)_ns$/;

interface RowPlace {
  readonly file: string;
  readonly line: number;
}

function checkHeader(columns: readonly string[], file: string): void {
  const missing = REQUIRED.find((name) => !columns.includes(name));
  const unknown = columns.find(
    (name) => !REQUIRED.includes(name) && name !== 'pages' && !BATCH_COLUMN.test(name),
  );
  const place = { file, line: 1 };
  if (missing !== undefined)
    throw new EscapementError('E_PROFILE', 'the column is missing', { ...place, key: missing });
  if (unknown === undefined) return;
  throw new EscapementError('E_PROFILE', `unknown column: ${suggestion(unknown, [...REQUIRED, 'pages'])}`, {
    ...place,
    key: unknown,
  });
}

function batchOf(column: string): number {
  return Number(BATCH_COLUMN.exec(column)![1]);
}

function readRow(
  row: readonly string[],
  columns: readonly string[],
  batches: readonly number[],
  place: RowPlace,
  pageBytes: number,
): ModelSpec {
  if (row.length !== columns.length) {
    throw new EscapementError(
      'E_PROFILE',
      `has ${row.length} fields, and the header names ${columns.length}`,
      place,
    );
  }
  const field = (column: string, min = 0): number => {
    const text = row[columns.indexOf(column)]!.trim();
    if (/^\d+$/.test(text) && Number(text) >= min && Number.isSafeInteger(Number(text))) return Number(text);
    throw new EscapementError('E_PROFILE', `must be a whole number of at least ${min}, found "${text}"`, {
      ...place,
      key: column,
    });
  };
  const name = row[columns.indexOf('model_id')]!.trim();
  if (name === '') throw new EscapementError('E_PROFILE', 'is empty', { ...place, key: 'model_id' });
  const weightsBytes = field('weights_bytes', 1);
  // The column counts pages of 16 MiB; other pages are a choice of the experiment.
  const counted = columns.includes('pages') && pageBytes === DEFAULT_PAGE_BYTES;
  return checkModel({
    name,
    weightsBytes,
    pages: counted ? field('pages', 1) : Math.ceil(weightsBytes / pageBytes),
    loadNs: field('weights_transfer_ns', 1),
    batchSizes: batches,
    execNs: batches.map((batch) => field(`b${batch}_ns`, 1)),
    inputBytes: field('input_bytes'),
    outputBytes: field('output_bytes'),
  });
}
