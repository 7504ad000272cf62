import { EscapementError } from '../../base/errors.js';
import { csvReader, delimiterOf } from '../../base/files/csv-text.js';
import type { Measurement, ReadMeasurements, Stated } from './measurement.js';

/** Choices of a user about tables. */
export interface TableOptions {
  /** Column with the model; undefined: recognized. */
  readonly modelColumn: string | undefined;
  /** Unit of latencies whose title has none. */
  readonly unit: TimeUnit | undefined;
  /** Texts that columns must have. */
  readonly where: readonly (readonly [column: string, text: string])[];
}

const TIMES = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000 } as const;
type TimeUnit = keyof typeof TIMES;
export const TIME_UNITS = Object.keys(TIMES) as TimeUnit[];
const SIZES = { bytes: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 } as const;

/** Bytes of a parameter by number format; 4 for others. */
const PARAMETER_BYTES: Readonly<Record<string, number>> = { fp16: 2, bf16: 2, amp: 4, int8: 1, fp8: 1 };
/** Standard deviations from the mean to a percentile of a normal distribution. */
const P90_DEVIATIONS = 1.2816;
const P99_DEVIATIONS = 2.3263;
const RGB_FLOAT_BYTES = 12;

/** Figure that a column holds. */
type Holds =
  | ('model' | 'gpu' | 'precision' | 'batch' | 'concurrency' | 'throughput' | 'parameters' | 'imageSide')
  | ('median' | 'mean' | 'min' | 'p90' | 'p99' | 'max' | 'deviation' | 'compute' | 'load')
  | ('length' | 'weights' | 'input' | 'output');

interface Column {
  readonly title: string;
  readonly holds: Holds;
  /** To ms, bytes or 1; null: a time without a unit. */
  readonly factor: number | null;
  /** Batch size of a column of its own. */
  readonly batch?: number;
}

/** Titles of columns, simplified: lower case, with _ for everything but letters and digits. */
const NAMES: readonly (readonly [RegExp, Holds, factor?: number])[] = [
  [/^(?:model|model_id|model_name|network|arch|architecture)$/, 'model'],
  [/^(?:gpu|gpu_name|gpu_kind|device|device_name|accelerator|hardware)$/, 'gpu'],
  [/^(?:precision|dtype|data_type|infer_precision)$/, 'precision'],
  [/^(?:infer_)?(?:batch|batch_size|batchsize|bs)$/, 'batch'],
  [/^(?:(?:input|seq|sequence)_)?(?:length|len)$/, 'length'],
  [/^concurrency$/, 'concurrency'],
  [
    /^(?:throughput|throughput_per_s|throughput_infer_sec|inferences_second|infer_samples_per_sec|samples_per_sec)$/,
    'throughput',
  ],
  [/^(?:param_count|params_m)$/, 'parameters', 1e6],
  [/^(?:parameters|params)$/, 'parameters', 1],
  [/^infer_img_size$/, 'imageSide'],
  // Step times of timm are ms, those of perf_analyzer us.
  [/^infer_step_time$/, 'mean', TIMES.ms],
  [/^server_compute(?:_infer)?$/, 'compute', TIMES.us],
];
const STATISTICS: readonly (readonly [RegExp, Holds])[] = [
  [/(?:^|_)(?:p50|median|50th)(?:_|$)/, 'median'],
  [/(?:^|_)(?:p90|90th)(?:_|$)/, 'p90'],
  [/(?:^|_)(?:p99|99th)(?:_|$)/, 'p99'],
  [/(?:^|_)(?:std|stddev|stdev|deviation)(?:_|$)/, 'deviation'],
  [/(?:^|_)min(?:imum)?(?:_|$)/, 'min'],
  [/(?:^|_)max(?:imum)?(?:_|$)/, 'max'],
  [/(?:^|_)(?:avg|mean|average)(?:_|$)/, 'mean'],
];
const OTHER_PERCENTILE = /(?:^|_)(?:p\d+|\d+th)(?:_|$)/;
const IS_TIME = /(?:^|_)(?:latency|lat|time|duration|exec|infer|inference|forward|compute)(?:_|$)/;
const IS_LOAD = /(?:^|_)(?:load|weights_transfer)(?:_|$)/;
/** Parts of a request's way to a server and back. */
const IS_ELSEWHERE = /^(?:client|network|server|request_rate)/;

/**
 * Reads a table with a header: one row for each batch size (`model, gpu, batch, latency_ms`), or one for all with
 * columns `b1_ms`, `b2_ms` …; as written by perf_analyzer, Model Analyzer and timm, too. Throws `E_PROFILE` with line
 * and column.
 */
export async function readTable(
  text: string,
  file: string,
  stated: Stated,
  options: TableOptions,
): Promise<ReadMeasurements> {
  const fail = (what: string, line: number, key?: string) =>
    new EscapementError('E_PROFILE', what, { file, line, ...(key === undefined ? {} : { key }) });
  const first = text.slice(0, text.indexOf('\n') + 1 || undefined);
  const delimiter = delimiterOf(first) ?? ',';
  const read = await csvReader(delimiter);
  const [header = [], ...rows] = read(text, (what, row) => fail(what, row + 1));
  const columns = columnsOf(header, options, (what, key) => fail(what, 1, key));
  const isPerfAnalyzer = header.includes('Inferences/Second');
  const wheres = options.where.map(([title, wanted]) => {
    const at = header.indexOf(title);
    if (at < 0) throw fail(`has no column ${title}; it has ${header.join(', ')}`, 1);
    return (row: readonly string[]) => row[at] === wanted;
  });
  const measurements: Measurement[] = [];
  const notes = new Set<string>();
  const [median, ...others] = columns.filter(
    (column) => column?.holds === 'median' && column.batch === undefined,
  );
  if (median && others.length > 0) {
    const left = others.map((column) => column!.title).join(', ');
    notes.add(`latencies are those of column ${median.title}, not of ${left}`);
  }
  const isFilter = (title: string) => options.where.some(([column]) => column === title);
  const unused = header.filter((title, at) => columns[at] === null && title !== '' && !isFilter(title));
  if (unused.length > 0) notes.add(`not used: ${unused.join(', ')}`);
  let without = 0;
  for (const [r, row] of rows.entries()) {
    const line = r + 2;
    if (row.every((cell) => cell === '')) continue;
    if (row.length !== header.length)
      throw fail(`has ${row.length} fields, and the header names ${header.length}`, line);
    if (!wheres.every((holds) => holds(row))) continue;
    const cells = columns.flatMap((column, at) =>
      column === null || row[at] === '' ? [] : [[column, row[at]!] as const],
    );
    const found = ofRow(cells, `${file}:${line}`, stated, notes, (what, key) => fail(what, line, key));
    if (found.length === 0) without++;
    measurements.push(...found);
  }
  if (measurements.length === 0) throw fail('has no row with a latency', 1);
  if (without > 0) notes.add(`${without} rows without a latency were left out`);
  return { format: isPerfAnalyzer ? 'perf_analyzer CSV' : 'table', measurements, notes: [...notes] };
}

type Fail = (what: string, key?: string) => EscapementError;
type Cells = readonly (readonly [column: Column, text: string])[];

function columnsOf(
  header: readonly string[],
  { modelColumn, unit }: TableOptions,
  fail: Fail,
): (Column | null)[] {
  const isPerfAnalyzer = header.includes('Inferences/Second');
  const columns = header.map((title) => {
    if (title === modelColumn) return { title, holds: 'model', factor: 1 } as const;
    const column = columnOf(title, isPerfAnalyzer ? 'us' : unit);
    return column?.holds === 'model' && modelColumn !== undefined ? null : column;
  });
  const latencies: readonly Holds[] = ['median', 'mean', 'compute', 'throughput'];
  const known = columns.map((column) => (column?.factor === null ? null : column));
  if (known.some((column) => column !== null && latencies.includes(column.holds))) return known;
  const unitless = columns.find((column) => column !== null && column.factor === null);
  if (unitless) throw fail('has no unit: give --unit ms, us, ns or s', unitless.title);
  throw fail(`has no known column of latencies, such as latency_ms or b1_ms; it has ${header.join(', ')}`);
}

function columnOf(title: string, unit: TimeUnit | undefined): Column | null {
  const name = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  for (const [pattern, holds, factor = 1] of NAMES) if (pattern.test(name)) return { title, holds, factor };
  const [, ofBatch, ofUnit] = /^(?:b|bs|batch)_?([1-9]\d*)_(ns|us|ms|s)$/.exec(name) ?? [];
  if (ofBatch !== undefined)
    return { title, holds: 'median', factor: TIMES[ofUnit as TimeUnit], batch: Number(ofBatch) };
  const [, sized, sizeUnit] =
    /^(weights|(?:model|weights?)_size|input|output)_(bytes|[kmg]i?b)$/.exec(name) ?? [];
  if (sized !== undefined)
    return {
      title,
      holds: sized.replace(/^.*_size$/, 'weights') as Holds,
      factor: SIZES[sizeUnit as keyof typeof SIZES],
    };
  if (IS_ELSEWHERE.test(name)) return null;
  const [, written] = /_(ns|us|usec|ms|msec|s|sec|seconds)$/.exec(name) ?? [];
  const timeUnit = (written?.replace(/(?<=[um]s|s)ec(?:onds)?$/, '') as TimeUnit | undefined) ?? unit;
  const factor = timeUnit === undefined ? null : TIMES[timeUnit];
  if (IS_LOAD.test(name)) return { title, holds: 'load', factor };
  const statistic = STATISTICS.find(([pattern]) => pattern.test(name))?.[1];
  if (statistic === undefined && OTHER_PERCENTILE.test(name)) return null;
  // A column "p50 latency" or "median_ms" is a time; one "mean" of something else is not.
  if (!IS_TIME.test(name) && !(statistic !== undefined && written !== undefined)) return null;
  return { title, holds: statistic ?? 'median', factor };
}

/** Measurements of a row: one, or one for each batch size that has a column. */
function ofRow(cells: Cells, from: string, stated: Stated, notes: Set<string>, fail: Fail): Measurement[] {
  const textOf = (holds: Holds) => cells.find(([column]) => column.holds === holds)?.[1];
  const figure = (holds: Holds, least = Number.MIN_VALUE) => {
    const cell = cells.find(([column]) => column.holds === holds && column.batch === undefined);
    return cell && numberIn(cell, least, fail);
  };
  const model = textOf('model') ?? stated.model;
  const precision = textOf('precision') ?? stated.precision;
  const parameters = figure('parameters');
  const side = figure('imageSide');
  const length = figure('length', 1);
  const ofModel = {
    model,
    precision,
    gpu: textOf('gpu') ?? stated.gpu,
    weightsBytes:
      figure('weights') ??
      (parameters && Math.round(parameters * (PARAMETER_BYTES[precision.toLowerCase()] ?? 4))),
    loadMs: figure('load'),
    inputBytes: figure('input', 0) ?? (side && side * side * RGB_FLOAT_BYTES),
    outputBytes: figure('output', 0),
    length: length && Math.ceil(length),
    from,
  };
  if (side !== undefined) notes.add('inputs are taken to be square RGB images in FP32');
  const wide = cells.filter(([column]) => column.batch !== undefined);
  if (wide.length > 0)
    return wide.map((cell) => ({
      ...ofModel,
      batch: cell[0].batch!,
      medianMs: numberIn(cell, Number.MIN_VALUE, fail),
    }));
  const concurrency = figure('concurrency', 1);
  const batch = figure('batch', 1) ?? stated.batch;
  if (batch === undefined) throw fail('has no batch size: give --batch, or name the file NAME_b8.csv');
  if (!Number.isInteger(batch)) throw fail(`must be a whole number of at least 1, found ${batch}`, 'batch');
  const times = timesOf(figure, batch, concurrency ?? 1, notes);
  return times === null ? [] : [{ ...ofModel, batch, concurrency, ...times }];
}

type Figure = (holds: Holds, least?: number) => number | undefined;

/** Times of a row, from the best figure that it has; null: it has none. */
function timesOf(figure: Figure, batch: number, concurrency: number, notes: Set<string>) {
  const [median, mean, compute, throughput] = (['median', 'mean', 'compute', 'throughput'] as const).map(
    (holds) => figure(holds, 0),
  );
  const [minMs, p90Ms, p99Ms, maxMs] = (['min', 'p90', 'p99', 'max'] as const).map((holds) => figure(holds));
  if (compute !== undefined && compute > 0) {
    const rest = (median ?? compute) - compute;
    notes.add(
      'an INFER is the mean time that the server computes; percentiles are those of clients, less the way to the server and back',
    );
    const less = (ms: number | undefined) => (ms === undefined ? undefined : Math.max(compute, ms - rest));
    return { medianMs: compute, p90Ms: less(p90Ms), p99Ms: less(p99Ms) };
  }
  if (median) return { medianMs: median, minMs, p90Ms, p99Ms, maxMs, ...byDeviation(median, figure, notes) };
  if (mean) {
    notes.add('the file has means, which are taken for medians');
    return { medianMs: mean, minMs, p90Ms, p99Ms, maxMs, ...byDeviation(mean, figure, notes) };
  }
  if (!throughput) return null;
  notes.add('the file has no latencies: an INFER is the batch over the throughput');
  return { medianMs: (1000 * batch * concurrency) / throughput, p99Ms };
}

/** Percentiles of a normal distribution, if the file has standard deviations. */
function byDeviation(medianMs: number, figure: Figure, notes: Set<string>) {
  const deviation = figure('deviation', 0);
  if (deviation === undefined || figure('p99') !== undefined) return {};
  notes.add('percentiles are those of a normal distribution with the standard deviation of the file');
  return { p90Ms: medianMs + P90_DEVIATIONS * deviation, p99Ms: medianMs + P99_DEVIATIONS * deviation };
}

function numberIn([{ title, factor }, text]: Cells[number], least: number, fail: Fail): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(value) && value * factor! >= least) return value * factor!;
  const must = least >= 1 ? `at least ${least}` : least === 0 ? 'at least 0' : 'above 0';
  throw fail(`must be a number, ${must}, found "${text.slice(0, 40)}"`, title);
}
