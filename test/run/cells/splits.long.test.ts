import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type CellSection, cellOf } from '../../../src/config/cell.js';
import type { Experiment } from '../../../src/config/experiment.js';
import { loadExperiment } from '../../../src/config/load.js';
import { sectionOf } from '../../../src/run/cells/cell-map.js';
import { dealGpus } from '../../../src/run/cells/deal-gpus.js';
import { figuresOf } from '../../../src/run/cells/figures.js';
import { type MeasuredLoad, measureLoad } from '../../../src/run/cells/measure-load.js';
import { partsOf } from '../../../src/run/cells/parts.js';
import { splitIntoCells } from '../../../src/run/cells/split.js';
import { simulate } from '../../../src/run/simulated.js';
import { formatPercent } from '../../../src/text/numbers.js';
import { hasShared, ROOT, TRACES } from '../../cli/run-cli.js';
import { markdownTable } from '../../docs/markdown.js';
import { RENEW } from '../../docs/run-page.js';

const GPUS = 32;
const CELLS = 8;

/** Hours of the trace, each minute played in a second. */
const load = (trace: string, minutes: string) =>
  loadExperiment(join(ROOT, 'experiments/azure.yaml'), [
    ...['slo=100ms', `cluster.gpus=${GPUS}`, 'workload.interval=1s', 'workload.load=70%'],
    ...[`workload.path=${join(TRACES, trace)}`, `workload.minutes=${minutes}`, 'output.timeline=false'],
  ]);

/** A model or a slice of it, and its load. */
interface Piece {
  readonly model: number;
  readonly from: number;
  readonly to: number;
  readonly mean: number;
}

const WAYS: Readonly<
  Record<string, (experiment: Experiment, measured: MeasuredLoad) => readonly CellSection[]>
> = {
  'by hash': (experiment) =>
    sectionsOf(experiment, wholeModels(experiment), ({ model }) => {
      const name = experiment.models[model]!.name;
      return createHash('sha256').update(name).digest().readUInt32BE(0) % CELLS;
    }),
  'heaviest first': (experiment, { means }) =>
    sectionsOf(experiment, ...heaviestFirst(wholeModels(experiment, means))),
  'heaviest first, cut': (experiment, measured) => {
    const pages = experiment.models.map((model) => model.pages);
    return sectionsOf(experiment, ...heaviestFirst(partsOf(measured, pages, { cells: CELLS, gpus: GPUS })));
  },
  planned: (experiment, measured) =>
    splitIntoCells(experiment, measured, { cells: CELLS, version: '', before: null }).cells.map(sectionOf),
};

const PAGE = join(ROOT, 'docs/how-to/split-into-cells.md');
const TRACE_FILES = [
  ['azure2019_invitro_1250f_1440min_inv.csv', '600:660'],
  ['azure2019_invitro_500f_480min_invocations.csv', '0:60'],
] as const;

it.skipIf(!hasShared)(
  `on real traces the planned split loses least, as the documentation says${hasShared ? '' : ' (skipped: no traces here)'}`,
  { timeout: 900_000 },
  async () => {
    const shares: Record<string, number[]> = { 'one controller': [] };
    for (const [trace, minutes] of TRACE_FILES) {
      const experiment = await load(trace, minutes);
      const measured = await measureLoad(experiment);
      shares['one controller']!.push((await simulate(experiment)).summary.attainment);
      for (const [name, split] of Object.entries(WAYS)) {
        shares[name] = [...(shares[name] ?? []), await attainment(experiment, split(experiment, measured))];
      }
    }
    for (const [i] of TRACE_FILES.entries()) {
      const of = (name: string) => shares[name]![i]!;
      expect(of('planned')).toBeGreaterThan(of('one controller') - 0.02);
      expect(of('planned')).toBeGreaterThanOrEqual(of('heaviest first, cut') - 0.001);
      expect(of('planned')).toBeGreaterThan(of('heaviest first') + 0.1);
      expect(of('planned')).toBeGreaterThan(of('by hash') + 0.1);
    }
    checkTable(shares);
  },
);

/** The table of the page is what was found. */
function checkTable(shares: Readonly<Record<string, readonly number[]>>): void {
  const rows = Object.entries(shares).map(([name, found]) => [
    name,
    ...found.map((share) => formatPercent(share)),
  ]);
  const table = markdownTable(['answered in time', '1,250 functions', '500 functions'], rows);
  const page = readFileSync(PAGE, 'utf8');
  if (RENEW)
    writeFileSync(
      PAGE,
      page.replace(/\| answered in time [\s\S]*?(?=\n\n)/, () => table),
    );
  else expect(page).toContain(table);
}

/** What the cells answer in time together. */
async function attainment(experiment: Experiment, cells: readonly CellSection[]): Promise<number> {
  const results = [];
  for (const cell of cells) results.push(await simulate(cellOf(experiment, cell, () => ({}))));
  return figuresOf(results).attainment;
}

function wholeModels({ models }: Experiment, means: ArrayLike<number> = []): Piece[] {
  return models.map((_, model) => ({ model, from: 0, to: 1, mean: means[model] ?? 0 }));
}

/** Longest processing time first: each piece to the cell with the least load that has no other piece of its model. */
function heaviestFirst(pieces: readonly Piece[]): [readonly Piece[], (piece: Piece) => number] {
  const loads = new Float64Array(CELLS);
  const held = Array.from({ length: CELLS }, () => new Set<number>());
  const cellOfPiece = new Map<Piece, number>();
  for (const piece of [...pieces].sort((a, b) => b.mean - a.mean)) {
    const free = [...loads.keys()].filter((cell) => !held[cell]!.has(piece.model));
    const best = free.reduce((least, cell) => (loads[cell]! < loads[least]! ? cell : least));
    loads[best]! += piece.mean;
    held[best]!.add(piece.model);
    cellOfPiece.set(piece, best);
  }
  return [pieces, (piece) => cellOfPiece.get(piece)!];
}

function sectionsOf(
  { models, cluster }: Experiment,
  pieces: readonly Piece[],
  cellOfPiece: (piece: Piece) => number,
): CellSection[] {
  return dealGpus(cluster, CELLS).map(([from, to], cell) => {
    const own = pieces.filter((piece) => cellOfPiece(piece) === cell);
    const name = ({ model }: Piece) => models[model]!.name;
    return {
      gpus: [from, to],
      models: own.map(name),
      requests: Object.fromEntries(own.map((piece) => [name(piece), [piece.from, piece.to]])),
    };
  });
}
