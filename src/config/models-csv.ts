import { EscapementError } from '../base/errors.js';
import { csvReader } from '../base/files/csv-text.js';
import { suggestion } from '../base/nearest.js';
import { DEFAULT_PAGE_BYTES, GIB, KIB, MIB, NS_PER_MS, NS_PER_S, NS_PER_US } from '../base/units.js';
import { checkModel, type ModelSpec } from '../core/model.js';
import type { ExperimentHost } from './experiment-host.js';
import { estimatedWeightsBytes, firstNs, IMAGE_BYTES, loadNsOf, OUTPUT_BYTES, type Sizes } from './fit.js';
import { formatDuration } from './units-text.js';

/** A model of a file, as measured on the GPUs of a cluster. */
interface CsvModel {
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
  const notes: Notes = new Map();
  const models = [...all].map(([name, byGpu]) => {
    const specOn = (gpu: string) => {
      const measured = byGpu.get(gpu);
      return measured && checkModel(specOf(name, measured, [...byGpu.values()], pageBytes, notes));
    };
    const onKind = new Map(
      kindNames.flatMap((kind): [string, ModelSpec][] => {
        const spec = specOn(kind);
        return spec === undefined ? [] : [[kind, spec]];
      }),
    );
    const gpus = [...byGpu.keys()];
    const base = onKind.get(kindNames[0]!) ?? specOn(gpus.length > 1 || kindNames.length > 0 ? '' : gpus[0]!);
    if (base === undefined && onKind.size === 0) {
      const hint =
        kindNames.length === 0
          ? `: say which GPUs the cluster has, e.g. cluster.gpus: [{ kind: ${gpus[0]} }]`
          : `, and cluster.gpus lists ${kindNames.join(', ')}`;
      throw new EscapementError('E_PROFILE', `${name} has rows for ${gpus.join(', ')}${hint}`, { file });
    }
    return { base: base ?? null, onKind };
  });
  for (const note of Object.keys(NOTES) as (keyof typeof NOTES)[]) {
    const found = [...(notes.get(note) ?? [])];
    if (found.length === 0) continue;
    const more = found.length > MOST_NAMED ? `; and ${found.length - MOST_NAMED} more` : '';
    warn(`${file}: ${NOTES[note]}: ${found.slice(0, MOST_NAMED).join('; ')}${more}`);
  }
  return models;
}

/** Warnings about a file, each given once, with the models that it applies to. */
const NOTES = {
  first: 'batch 1 was not measured, and is extrapolated from the smallest batches that were',
  faster: 'a larger batch is faster than a smaller one, and used as it is',
  weights:
    'the weights are not given, and estimated as 25.5 MB for each ms of an INFER of batch 1, which is what fit takes',
  load: 'the time of a LOAD is not given, and estimated as the weights at 12.2 GB/s',
  copies: `input or output bytes are not given, and taken to be ${IMAGE_BYTES} and ${OUTPUT_BYTES}: an image of 224 x 224 and 1,000 classes in FP32`,
} as const;

type Notes = Map<keyof typeof NOTES, Set<string>>;

const MOST_NAMED = 4;

/** A non-blank line below the header, by column. */
interface Row {
  readonly line: number;
  readonly cells: readonly (readonly [column: Column, text: string])[];
}

async function rowsOf(text: string, file: string): Promise<Row[]> {
  const read = await csvReader();
  const lines = read(text.replace(/^\uFEFF/, ''), (what, row) => problem(what, file, row + 1));
  const columns = columnsOf(lines[0] ?? [], (what, key) => problem(what, file, 1, key));
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
  readonly holds: string;
  /** Factor to bytes or ns. */
  readonly factor: number;
  /** Batch size of its latencies; absent: that of each row. */
  readonly batch?: number;
}

const SIZES = { bytes: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: KIB, mib: MIB, gib: GIB };
const TIMES = { ns: 1, us: NS_PER_US, ms: NS_PER_MS, s: NS_PER_S };
/** Contents of columns by title, and factors to bytes or ns. */
const COLUMNS: Readonly<Record<string, readonly [holds: string, factor: number]>> = {
  ...{
    model: ['model', 1],
    model_id: ['model', 1],
    gpu: ['gpu', 1],
    batch: ['batch', 1],
    pages: ['pages', 1],
  },
  ...Object.fromEntries(
    [
      ...['weights', 'input', 'output'].map((holds) => [holds, SIZES] as const),
      ...['weights_transfer', 'latency'].map((holds) => [holds, TIMES] as const),
    ].flatMap(([holds, units]) =>
      Object.entries(units).map(([unit, factor]) => [`${holds}_${unit}`, [holds, factor] as const]),
    ),
  ),
};
/** Titles with which a mistyped one is compared. */
const TITLES = [
  ...['model', 'model_id', 'gpu', 'batch', 'latency_ns', 'b1_ns', 'weights_bytes'],
  ...['weights_transfer_ns', 'input_bytes', 'output_bytes', 'pages'],
];

type Fail = (what: string, key?: string) => EscapementError;

function columnsOf(header: readonly string[], fail: Fail): Column[] {
  const titles = header.map((title) => title.trim());
  if (titles.length === 1 && /[;\t|]/.test(titles[0]!))
    throw fail('write commas between the fields, and points in numbers');
  const columns = titles.map((title): Column => {
    const [, batch] = /^b([1-9]\d*)_/.exec(title) ?? [];
    const known = batch === undefined ? title : title.replace(/^b\d+/, 'latency');
    if (!Object.hasOwn(COLUMNS, known)) throw fail(`unknown column: ${suggestion(title, TITLES)}`, title);
    const [holds, factor] = COLUMNS[known]!;
    return { title, holds, factor, ...(batch === undefined ? {} : { batch: Number(batch) }) };
  });
  for (const [at, { title, holds, batch }] of columns.entries()) {
    const same = columns.slice(0, at).find((other) => other.holds === holds && other.batch === batch);
    if (same !== undefined) throw fail(`says the same as column ${same.title}`, title);
  }
  const has = (holds: string) => columns.some((one) => one.holds === holds && one.batch === undefined);
  const wide = columns.find(({ batch }) => batch !== undefined);
  if (!has('model')) throw fail('the column is missing', 'model');
  if (wide !== undefined && (has('batch') || has('latency')))
    throw fail('write either this column or batch and latency', wide.title);
  const missing = wide === undefined ? ['batch', 'latency'].find((needed) => !has(needed)) : undefined;
  if (missing !== undefined)
    throw fail('the column is missing: write batch and latency_ns, or b1_ns, b2_ns …', missing);
  return columns;
}

/** Measurements of a model on one kind of GPU. */
interface Measured {
  /** Model and GPU, for people. */
  readonly what: string;
  /** Latencies by batch size, ns, with their lines. */
  readonly batches: Map<number, Noted>;
  /** Sizes and times by column. */
  readonly figures: Map<string, Noted>;
}

interface Noted {
  readonly value: number;
  readonly line: number;
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

function addRow({ what, batches, figures }: Measured, { line, cells }: Row, fail: Fail): void {
  const given = cells
    .filter(([{ holds }, text]) => text !== '' && !['model', 'gpu'].includes(holds))
    .map(([column, text]) => ({ ...column, value: numberIn(text, column, fail) }));
  const size = given.find(({ holds }) => holds === 'batch')?.value;
  if (!given.some(({ holds }) => holds === 'latency')) throw fail('has no latency');
  for (const { title, holds, value, batch = size } of given) {
    if (holds === 'batch') continue;
    if (holds === 'latency') {
      if (batch === undefined) throw fail('is empty', 'batch');
      const before = batches.get(batch);
      if (before !== undefined)
        throw fail(`${what} has a latency at batch ${batch} already, in line ${before.line}`, title);
      batches.set(batch, { value, line });
    } else {
      const before = figures.get(holds);
      if (before !== undefined && before.value !== value)
        throw fail(`${what} has another value in line ${before.line}`, title);
      figures.set(holds, before ?? { value, line });
    }
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
  notes: Notes,
): ModelSpec {
  const note = (about: keyof typeof NOTES, text = '') =>
    notes.set(about, (notes.get(about) ?? new Set()).add(`${what}${text}`));
  const figure = (holds: string) =>
    (figures.get(holds) ?? ofModel.find((other) => other.figures.has(holds))?.figures.get(holds))?.value;
  const [input, output, weights] = [figure('input'), figure('output'), figure('weights')];
  const load = figures.get('weights_transfer')?.value;
  if (input === undefined || output === undefined) note('copies');
  if (weights === undefined) note('weights');
  if (load === undefined) note('load');
  // Independent of the GPU, so taken from the same rows on all.
  const weightsBytes = weights ?? estimatedWeightsBytes(firstNs(sizesOf(ofModel[0]!.batches)));
  const measured = sizesOf(batches);
  const sizes = measured[0]![0] === 1 ? measured : [[1, firstNs(measured)] as const, ...measured];
  if (sizes !== measured) note('first', ` (${textOf(firstNs(measured))})`);
  sizes.forEach(([size, ns], i) => {
    const [smaller, longerNs] = sizes[i - 1] ?? [0, 0];
    if (ns < longerNs) note('faster', ` (${textOf(ns)} at ${size}, ${textOf(longerNs)} at ${smaller})`);
  });
  // The column counts pages of 16 MiB; other page sizes are set by the experiment.
  const pages = pageBytes === DEFAULT_PAGE_BYTES ? figure('pages') : undefined;
  return {
    name,
    weightsBytes,
    pages: pages ?? Math.ceil(weightsBytes / pageBytes),
    loadNs: load ?? loadNsOf(weightsBytes),
    batchSizes: sizes.map(([size]) => size),
    execNs: sizes.map(([, ns]) => ns),
    inputBytes: input ?? IMAGE_BYTES,
    outputBytes: output ?? OUTPUT_BYTES,
  };
}

function sizesOf(batches: Measured['batches']): Sizes {
  return [...batches].map(([batch, { value }]) => [batch, value] as const).sort(([a], [b]) => a - b);
}

function textOf(ns: number): string {
  return formatDuration(Number(ns.toPrecision(3)));
}

function problem(what: string, file: string, line: number, key?: string): EscapementError {
  return new EscapementError('E_PROFILE', what, { file, line, ...(key === undefined ? {} : { key }) });
}
