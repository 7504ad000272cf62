import { formatDuration } from '../../../src/config/units-text.js';
import type { Draw } from '../draw.js';
import type { Section } from './candidate.js';
import { drawLengths } from './draw-senders.js';

const US = 1000;
const MS = 1e6;
const BATCH_LISTS = [
  [1],
  [1, 2],
  [1, 2, 4],
  [1, 2, 4, 8],
  [1, 2, 4, 8, 16],
  [1, 3, 6],
  [1, 5, 7, 32],
] as const;
/** What the largest model of the zoo and of `fit` takes, in bytes of weights. */
const ZOO_BYTES = 600e6;
/** Rough time of one request in the zoo, or of one that was fitted, and the least it can be. */
const ZOO_COST_NS = 4 * MS;
const ZOO_CHEAPEST_NS = MS / 10;

/** Models of an experiment, and what other sections must know to fit them. */
export interface DrawnModels {
  readonly sections: readonly Section[];
  readonly files: Readonly<Record<string, string>>;
  /** Names, or patterns of names, of one section each. */
  readonly patterns: readonly string[];
  /** Some of their names. */
  readonly names: readonly string[];
  readonly largestPages: number;
  readonly totalPages: number;
  /** Rough GPU time of a request. */
  readonly costNs: number;
  /** At least what a request costs in the best batch. */
  readonly cheapestNs: number;
  /** The longest input that all models take that have lengths; null: none has. */
  readonly longest: number | null;
}

interface DrawnSection {
  readonly section: Section;
  readonly file: readonly [name: string, text: string] | null;
  readonly pattern: string;
  readonly names: readonly string[];
  readonly pages: number;
  readonly count: number;
  readonly costNs: number;
  readonly cheapestNs: number;
  /** Absent: its inputs have one length. */
  readonly longest?: number;
}

/** One to three sections of all kinds that need no ONNX file. */
export function drawModels(draw: Draw, pageBytes: number): DrawnModels {
  const baseNs = draw.log(20 * US, 20 * MS);
  const drawn = draw.list(1, draw.pick([1, 1, 2, 3]), (index) => drawSection(draw, index, baseNs, pageBytes));
  const count = drawn.reduce((sum, section) => sum + section.count, 0);
  const longests = drawn.flatMap(({ longest }) => longest ?? []);
  return {
    sections: drawn.map(({ section }) => section),
    files: Object.fromEntries(drawn.flatMap(({ file }) => (file === null ? [] : [file]))),
    patterns: drawn.map(({ pattern }) => pattern),
    names: drawn.flatMap(({ names }) => names),
    largestPages: Math.max(...drawn.map(({ pages }) => pages)),
    totalPages: drawn.reduce((sum, section) => sum + section.pages * section.count, 0),
    costNs: drawn.reduce((sum, section) => sum + section.costNs * section.count, 0) / count,
    cheapestNs: Math.min(...drawn.map(({ cheapestNs }) => cheapestNs)),
    longest: longests.length === 0 ? null : Math.min(...longests),
  };
}

function drawSection(draw: Draw, index: number, baseNs: number, pageBytes: number): DrawnSection {
  const kind = draw.pick(['csv', 'csv', 'csv', 'profile', 'profile', 'fit', 'zoo'] as const);
  if (kind === 'csv') return drawCsv(draw, index, baseNs, pageBytes);
  if (kind === 'profile') return drawProfile(draw, index, baseNs, pageBytes);
  const count = draw.log(1, 12);
  const pages = Math.ceil(ZOO_BYTES / pageBytes);
  const rest = { file: null, pages, count, costNs: ZOO_COST_NS, cheapestNs: ZOO_CHEAPEST_NS };
  if (kind === 'zoo') {
    const section = { kind, varieties: count };
    return { section, pattern: '*', names: ['resnet50'], ...rest };
  }
  const section = { kind, name: `fit${index}`, parameters: draw.log(1e6, 1e8), copies: count };
  return { section, pattern: `fit${index}*`, names: copies(`fit${index}`, count), ...rest };
}

function drawCsv(draw: Draw, index: number, baseNs: number, pageBytes: number): DrawnSection {
  const batches = draw.pick(BATCH_LISTS);
  const count = draw.chance(0.05) ? draw.int(65, 140) : draw.log(1, 24);
  const pages = draw.int(1, 7);
  const columns = batches.map((batch) => `b${batch}_ns`).join();
  let cheapestNs = Number.POSITIVE_INFINITY;
  const rows = Array.from({ length: count }, (_, i) => {
    const weights = draw.int(1, pages) * pageBytes - draw.int(0, pageBytes - 1);
    const execNs = execTimes(draw, baseNs, batches);
    cheapestNs = Math.min(cheapestNs, cheapest(execNs, batches));
    return `csv${index}-${i},${weights},${loadNs(draw)},${execNs},${draw.log(1, 5e6)},${draw.int(0, 5000)}`;
  });
  const header = `model_id,weights_bytes,weights_transfer_ns,${columns},input_bytes,output_bytes`;
  const path = `models${index}.csv`;
  return {
    section: { kind: 'csv', path },
    file: [path, `${[header, ...rows].join('\n')}\n`],
    pattern: draw.chance(0.5) ? `csv${index}-*` : `csv${index}-${draw.int(0, count - 1)}`,
    names: rows.map((_, i) => `csv${index}-${i}`),
    ...{ pages, count, costNs: baseNs, cheapestNs },
  };
}

function drawProfile(draw: Draw, index: number, baseNs: number, pageBytes: number): DrawnSection {
  const batches = draw.pick(BATCH_LISTS);
  const count = draw.log(1, 8);
  const pages = draw.int(1, 7);
  const times = execTimes(draw, baseNs, batches);
  const spread = draw.chance(0.7);
  const lengths = draw.chance(0.4) ? drawLengths(draw) : null;
  const loadMs = loadNs(draw) / MS;
  const measured = (share: number) =>
    batches.map((batch, i) => {
      const medianMs = Math.max(1, Math.round(times[i] * share)) / MS;
      return { batch, ...(spread ? quantiles(draw, medianMs) : { medianMs }) };
    });
  const profile = {
    ...{ name: `profile${index}`, gpu: 'drawn', runtime: 'drawn', precision: 'FP32' },
    weightsBytes: pages * pageBytes,
    loadMs,
    ...(spread ? { loadP99Ms: loadMs * 1.5, loadMaxMs: loadMs * 3 } : {}),
    ...{ inputBytes: draw.log(1, 5e6), outputBytes: draw.int(0, 5000) },
    batches: measured(1),
    ...(lengths === null
      ? {}
      : {
          length: lengths.longest,
          shorter: lengths.shorter.map(({ length, share }) => ({ length, batches: measured(share) })),
        }),
    source: { weights: 'drawn', load: 'drawn', copies: 'drawn', batches: 'drawn' },
  };
  const path = `profile${index}.json`;
  return {
    section: { kind: 'profile', path, copies: count },
    file: [path, JSON.stringify(profile, null, 1)],
    pattern: `profile${index}*`,
    names: copies(`profile${index}`, count),
    ...{ pages, count, costNs: baseNs },
    cheapestNs:
      Math.min(...[...(lengths?.shorter ?? []), { share: 1 }].map(({ share }) => share)) *
      cheapest(times, batches),
    ...(lengths === null ? {} : { longest: lengths.longest }),
  };
}

function copies(name: string, count: number): string[] {
  return count === 1 ? [name] : Array.from({ length: count }, (_, copy) => `${name}-${copy}`);
}

function quantiles(draw: Draw, medianMs: number) {
  const tail = draw.real(1.01, 5);
  return {
    ...{ medianMs, minMs: medianMs * 0.9, p90Ms: medianMs * tail, p99Ms: medianMs * tail * 1.2 },
    ...{ maxMs: medianMs * tail * 2, ...draw.maybe(0.3, 'afterOtherMs', () => medianMs * 1.5) },
  };
}

/** From no cost at all for one more request to more than it costs alone. */
function execTimes(draw: Draw, baseNs: number, batches: readonly number[]): number[] {
  const firstNs = draw.chance(0.02) ? draw.int(1, 100) : draw.log(baseNs / 4, baseNs * 4);
  const growth = draw.pick([0, 0.2, 0.5, 0.8, 1, 1.2]);
  return batches.map((batch) => Math.max(1, Math.round(firstNs * (1 + (batch - 1) * growth))));
}

function cheapest(execNs: readonly number[], batches: readonly number[]): number {
  return Math.min(...execNs.map((ns, i) => ns / batches[i]));
}

function loadNs(draw: Draw): number {
  return draw.log(50 * US, 60 * MS);
}

/** A duration as text. */
export function ns(value: number): string {
  return formatDuration(Math.max(1, Math.round(value)));
}
