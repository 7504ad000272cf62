import { EscapementError } from '../base/errors.js';
import { csvReader } from '../base/files/csv-text.js';
import { suggestion } from '../base/nearest.js';
import { DEFAULT_PAGE_BYTES, GIB, KIB, MIB, NS_PER_MS, NS_PER_S, NS_PER_US } from '../base/units.js';
import { checkModel, type ModelSpec } from '../core/model.js';
import type { ExperimentHost } from './experiment-host.js';
import { estimatedFirstNs, estimatedWeightsBytes, IMAGE_BYTES, loadNsOf, OUTPUT_BYTES } from './fit.js';
import { formatDuration } from './units-text.js';

/** A model of a file, as measured on the GPUs of a cluster. */
export interface CsvModel {
  /** On the first kind of the cluster, or on unnamed GPUs; null if the file has neither. */
  readonly base: ModelSpec | null;
  /** By name of the kind, if the file has it. */
  readonly onKind: ReadonlyMap<string, ModelSpec>;
}

interface CsvContext {
  readonly pageBytes: number;
  /** Kinds of GPUs of the cluster; empty: all are of one unnamed kind. */
  readonly kindNames: readonly string[];
  readonly host: ExperimentHost;
  /** Called with estimates and suspicious figures. */
  warn(text: string): void;
}

/** Columns of a models file, for people. */
export const CSV_COLUMNS =
  'model (or model_id); batch and latency_ns, a row for each batch size, or b1_ns, b2_ns …, a row for all; and, if known, gpu (kind of GPU), weights_bytes, weights_transfer_ns (LOAD), input_bytes, output_bytes, pages (of 16 MiB). Times also end in _us, _ms and _s, sizes in _kb, _mb, _gb, _kib, _mib and _gib';

/**
 * Models of a CSV with a row for each model (and kind of GPU), or for each of its batch sizes. A model is named by the
 * text of its cell. Throws `E_FILE_MISSING`, and `E_PROFILE` with file, line and column.
 */
export async function readModelsCsv(path: string, context: CsvContext): Promise<CsvModel[]> {
  const { host } = context;
  return parseModelsCsv(await host.input.text(host.locate(path)), path, context);
}

export async function parseModelsCsv(
  text: string,
  file: string,
  { pageBytes, kindNames, warn }: Omit<CsvContext, 'host'>,
): Promise<CsvModel[]> {
  const all = measurements(await rowsOf(text, file), file);
  const report = new Report();
  const models = [...all].map(([name, byGpu]) => {
    const specOn = (gpu: string) => {
      const measured = byGpu.get(gpu);
      return measured && checkModel(specOf(name, measured, [...byGpu.values()], pageBytes, report));
    };
    const onKind = new Map(
      kindNames.flatMap((kind): [string, ModelSpec][] => {
        const spec = specOn(kind);
        return spec === undefined ? [] : [[kind, spec]];
      }),
    );
    const [only = ''] = byGpu.size === 1 && kindNames.length === 0 ? byGpu.keys() : [];
    const base = onKind.get(kindNames[0]!) ?? specOn(only) ?? null;
    if (base === null && onKind.size === 0) throw noKind(name, [...byGpu.keys()], kindNames, file);
    return { base, onKind };
  });
  for (const warning of report.warnings()) warn(`${file}: ${warning}`);
  return models;
}

/** A non-blank line below the header, by column. */
interface Row {
  readonly line: number;
  readonly cells: readonly (readonly [column: Column, text: string])[];
}

async function rowsOf(text: string, file: string): Promise<Row[]> {
  const read = await csvReader();
  const lines = read(text.replace(/^\uFEFF/, ''), (what, row) => problem(what, file, row + 1));
  const columns = columnsOf(lines[0] ?? [], file);
  return lines.slice(1).flatMap((row, i) => {
    const line = i + 2;
    if (row.every((cell) => cell.trim() === '')) return [];
    if (row.length !== columns.length)
      throw problem(`has ${row.length} fields, and the header names ${columns.length}`, file, line);
    return [{ line, cells: columns.map((column, at) => [column, row[at]!.trim()] as const) }];
  });
}

interface Column {
  /** Title in the header. */
  readonly title: string;
  /** Content of the column: the title without its unit. */
  readonly holds: string;
  /** Factor to bytes or ns. */
  readonly factor: number;
}

const SIZES = { bytes: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: KIB, mib: MIB, gib: GIB };
const TIMES = { ns: 1, us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S };
const BATCH = /^b([1-9]\d*)$/;
/** Titles with which a mistyped one is compared. */
const TITLES = [
  ...['model', 'model_id', 'gpu', 'batch', 'latency_ns', 'b1_ns', 'weights_bytes'],
  ...['weights_transfer_ns', 'input_bytes', 'output_bytes', 'pages'],
];

function columnsOf(header: readonly string[], file: string): Column[] {
  const titles = header.map((title) => title.trim());
  if (titles.length === 1 && /[;\t|]/.test(titles[0]!))
    throw problem('write commas between the fields, and points in numbers', file, 1);
  const columns = titles.map((title) => {
    const column = columnOf(title);
    if (column !== null) return column;
    throw problem(`unknown column: ${suggestion(title, TITLES)}`, file, 1, title);
  });
  columns.forEach(({ title, holds }, at) => {
    const first = columns.findIndex((column) => column.holds === holds);
    if (first < at) throw problem(`says the same as column ${columns[first]!.title}`, file, 1, title);
  });
  const has = (holds: string) => columns.some((column) => column.holds === holds);
  const wide = columns.find(({ holds }) => BATCH.test(holds));
  if (!has('model')) throw problem('the column is missing', file, 1, 'model');
  if (wide !== undefined && (has('batch') || has('latency')))
    throw problem('write either this column or batch and latency', file, 1, wide.title);
  for (const needed of wide === undefined ? ['batch', 'latency'] : [])
    if (!has(needed))
      throw problem(`the column is missing: write batch and latency_ns, or b1_ns, b2_ns …`, file, 1, needed);
  return columns;
}

function columnOf(title: string): Column | null {
  if (title === 'model_id') return { title, holds: 'model', factor: 1 };
  if (['model', 'gpu', 'batch', 'pages'].includes(title)) return { title, holds: title, factor: 1 };
  const [, holds = '', unit = ''] = /^(\w+)_([a-z]+)$/.exec(title) ?? [];
  const isTime = ['weights_transfer', 'latency'].includes(holds) || BATCH.test(holds);
  const units: Readonly<Record<string, number>> = isTime
    ? TIMES
    : ['weights', 'input', 'output'].includes(holds)
      ? SIZES
      : {};
  return Object.hasOwn(units, unit) ? { title, holds, factor: units[unit]! } : null;
}

/** Measurements of a model on one kind of GPU. */
interface Measured {
  /** Model and GPU, for people. */
  readonly what: string;
  /** Latencies by batch size, ns, with their lines. */
  readonly batches: Map<number, { readonly ns: number; readonly line: number }>;
  /** Sizes and times by column, with their lines. */
  readonly figures: Map<string, { readonly value: number; readonly line: number }>;
}

/** Measurements by model and then by kind of GPU; `''`: the file does not name the kind. */
function measurements(rows: readonly Row[], file: string): Map<string, Map<string, Measured>> {
  const all = new Map<string, Map<string, Measured>>();
  for (const { line, cells } of rows) {
    const fail = (what: string, key?: string) => problem(what, file, line, key);
    const name = nameIn(cells, 'model', fail);
    const gpu = nameIn(cells, 'gpu', fail);
    const byGpu = all.get(name) ?? new Map<string, Measured>();
    const what = gpu === '' ? name : `${name} on ${gpu}`;
    const measured = byGpu.get(gpu) ?? { what, batches: new Map(), figures: new Map() };
    all.set(name, byGpu.set(gpu, measured));
    addRow(measured, { line, cells }, fail);
  }
  if (all.size === 0) throw new EscapementError('E_PROFILE', 'has a header and no models', { file });
  return all;
}

type Fail = (what: string, key?: string) => EscapementError;

function addRow({ what, batches, figures }: Measured, { line, cells }: Row, fail: Fail): void {
  const given = new Map(
    cells.flatMap(([column, text]): [string, number][] =>
      text === '' || ['model', 'gpu'].includes(column.holds)
        ? []
        : [[column.holds, numberIn(text, column, fail)]],
    ),
  );
  const sized = cells.flatMap(([{ holds, title }]): [number, string, string][] => {
    if (holds === 'latency') return [[given.get('batch') ?? 0, holds, title]];
    return BATCH.test(holds) ? [[Number(holds.slice(1)), holds, title]] : [];
  });
  const filled = sized.filter(([, holds]) => given.has(holds));
  if (filled.length === 0) throw fail('has no latency');
  for (const [batch, holds, title] of filled) {
    if (batch === 0) throw fail('is empty', 'batch');
    const before = batches.get(batch);
    if (before !== undefined)
      throw fail(`${what} has a latency at batch ${batch} already, in line ${before.line}`, title);
    batches.set(batch, { ns: given.get(holds)!, line });
  }
  for (const [{ holds, title }] of cells) {
    const value = given.get(holds);
    if (value === undefined || holds === 'batch' || sized.some(([, other]) => other === holds)) continue;
    const before = figures.get(holds);
    if (before !== undefined && before.value !== value)
      throw fail(`${what} has another value in line ${before.line}`, title);
    figures.set(holds, before ?? { value, line });
  }
}

/** Text of a cell; empty without such a column. */
function nameIn(cells: Row['cells'], holds: 'model' | 'gpu', fail: Fail): string {
  const [column, text = ''] = cells.find(([{ holds: held }]) => held === holds) ?? [];
  if (text === '' && holds === 'model') throw fail('is empty', column?.title);
  if (/\p{Cc}/u.test(text)) throw fail('has a control character', column?.title);
  if (text.length > MOST_CHARACTERS)
    throw fail(`must have at most ${MOST_CHARACTERS} characters, found ${text.length}`, column?.title);
  return text;
}

const MOST_CHARACTERS = 200;

function numberIn(text: string, { title, holds, factor }: Column, fail: Fail): number {
  const least = ['input', 'output'].includes(holds) ? 0 : 1;
  const value = Math.round(Number(text) * factor);
  const isNumber = factor === 1 ? /^\d+$/.test(text) : /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  if (isNumber && value >= least && Number.isSafeInteger(value)) return value;
  const found = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  if (isNumber && value >= least) throw fail(`is too large: ${found}`, title);
  if (factor === 1) throw fail(`must be a whole number of at least ${least}, found "${found}"`, title);
  throw fail(`must be a number ${least === 0 ? 'of at least' : 'above'} 0, found "${found}"`, title);
}

/** A model on one kind of GPU. Figures missing there are taken from its other rows, or estimated. */
function specOf(
  name: string,
  { what, batches, figures }: Measured,
  ofModel: readonly Measured[],
  pageBytes: number,
  report: Report,
): ModelSpec {
  const measured = sizesOf(batches);
  const figure = (holds: string) =>
    (figures.get(holds) ?? ofModel.find((other) => other.figures.has(holds))?.figures.get(holds))?.value;
  const estimated = (about: keyof typeof WARNINGS, value: number): number => {
    report.add(about, what);
    return value;
  };
  const [inputBytes, outputBytes] = [figure('input'), figure('output')];
  if (inputBytes === undefined || outputBytes === undefined) report.add('copies', what);
  // Independent of the GPU, so taken from the same rows on all.
  const weightsBytes =
    figure('weights') ?? estimated('weights', estimatedWeightsBytes(firstNs(sizesOf(ofModel[0]!.batches))));
  const loadNs = figures.get('weights_transfer')?.value ?? estimated('load', loadNsOf(weightsBytes));
  const sizes = measured[0]![0] === 1 ? measured : [[1, firstNs(measured)] as const, ...measured];
  if (sizes !== measured) report.add('first', what, textOf(firstNs(measured)));
  sizes.forEach(([size, ns], i) => {
    const [smaller, longerNs] = sizes[i - 1] ?? [0, 0];
    if (ns < longerNs)
      report.add('faster', what, `${textOf(ns)} at ${size}, ${textOf(longerNs)} at ${smaller}`);
  });
  // The column counts pages of 16 MiB; other page sizes are set by the experiment.
  const pages = pageBytes === DEFAULT_PAGE_BYTES ? figure('pages') : undefined;
  return {
    name,
    weightsBytes,
    pages: pages ?? Math.ceil(weightsBytes / pageBytes),
    loadNs,
    batchSizes: sizes.map(([size]) => size),
    execNs: sizes.map(([, ns]) => ns),
    inputBytes: inputBytes ?? IMAGE_BYTES,
    outputBytes: outputBytes ?? OUTPUT_BYTES,
  };
}

type Sizes = readonly (readonly [batch: number, ns: number])[];

function sizesOf(batches: Measured['batches']): Sizes {
  return [...batches].map(([batch, { ns }]) => [batch, ns] as const).sort(([a], [b]) => a - b);
}

/**
 * Latency at batch 1: measured, or on the straight line through the two smallest batches, but no less than a request's
 * part of the smallest batch, and no more than that batch takes. With a single batch, on the line of `fit`.
 */
function firstNs([smallest, second]: Sizes): number {
  const [batch, ns] = smallest!;
  if (batch === 1) return ns;
  if (second === undefined) return estimatedFirstNs(batch, ns);
  const slopeNs = (second[1] - ns) / (second[0] - batch);
  return Math.round(Math.min(ns, Math.max(ns / batch, ns - (batch - 1) * slopeNs)));
}

/** Warnings about a file, each given once, with the models that it applies to. */
const WARNINGS = {
  first: 'batch 1 was not measured, and is extrapolated from the smallest batches that were',
  faster: 'a larger batch is faster than a smaller one, and used as it is',
  weights:
    'the weights are not given, and estimated as 25.5 MB for each ms of an INFER of batch 1, which is what fit takes',
  load: 'the time of a LOAD is not given, and estimated as the weights at 12.2 GB/s',
  copies: `input or output bytes are not given, and taken to be ${IMAGE_BYTES} and ${OUTPUT_BYTES}: an image of 224 x 224 and 1,000 classes in FP32`,
} as const;

/** Estimates and suspicious figures, by warning. */
class Report {
  private readonly found = new Map<keyof typeof WARNINGS, string[]>();

  add(about: keyof typeof WARNINGS, what: string, text = ''): void {
    const list = this.found.get(about) ?? [];
    this.found.set(about, list);
    list.push(text === '' ? what : `${what} (${text})`);
  }

  warnings(): string[] {
    return (Object.keys(WARNINGS) as (keyof typeof WARNINGS)[]).flatMap((about) => {
      const list = [...new Set(this.found.get(about))];
      const rest = list.length - MOST_NAMED;
      const named = list.slice(0, MOST_NAMED).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
      return list.length === 0 ? [] : [`${WARNINGS[about]}: ${named}`];
    });
  }
}

const MOST_NAMED = 4;

function textOf(ns: number): string {
  return formatDuration(Number(ns.toPrecision(3)));
}

function noKind(
  name: string,
  gpus: readonly string[],
  kindNames: readonly string[],
  file: string,
): EscapementError {
  const what =
    kindNames.length === 0
      ? `${name} has rows for ${gpus.join(', ')}: say which GPUs the cluster has, e.g. cluster.gpus: [{ kind: ${gpus[0]} }]`
      : `${name} has rows for ${gpus.join(', ')}, and cluster.gpus lists ${kindNames.join(', ')}`;
  return new EscapementError('E_PROFILE', what, { file });
}

function problem(what: string, file: string, line: number, key?: string): EscapementError {
  return new EscapementError('E_PROFILE', what, { file, line, ...(key === undefined ? {} : { key }) });
}
