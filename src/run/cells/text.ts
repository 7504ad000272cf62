import { type Estimate, estimate } from '../../report/statistics.js';
import type { ThresholdCase } from '../../report/thresholds/cases.js';
import { thresholdLines } from '../../report/thresholds/text.js';
import { formatCount, formatMs, formatPercent, formatPoints, withInterval } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { listed, plural } from '../../text/words.js';
import { MEETS } from '../plan/text.js';
import { estimateText } from '../plan/words.js';
import type { MappedCell } from './cell-map.js';
import type { CellsResult, Split } from './cells-result.js';
import type { CellFigures } from './figures.js';

/** A split into cells for the terminal: one cluster against each number of cells, then the cells of the chosen one. */
export function cellsText(plan: CellsResult): string {
  const { policy, models, gpus, load, headline, notes, chosen } = plan;
  const shown = plan.splits.find(({ cells }) => cells === chosen);
  return [
    `policy ${policy}, ${plural(models, 'model')} that keep ${load.toFixed(1)} of ${plural(gpus, 'GPU')} busy`,
    '',
    ...alignColumns(compareRows(plan), plan.targets.length === 0 ? [] : [-1]),
    '',
    ...(shown === undefined ? [] : [...alignColumns(cellRows(shown), [0]), '']),
    headline,
    ...thresholdLines(cellsCases(plan)),
    ...notes.map((note) => `note: ${note}`),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** The answer in one line. */
export function headlineOf({
  splits,
  chosen,
  targets,
  whole,
}: Pick<CellsResult, 'splits' | 'chosen' | 'targets' | 'whole'>): string {
  const wanted = listed(targets.map(({ text }) => text));
  const split = splits.find(({ cells }) => cells === chosen);
  if (split === undefined) return `No number of cells meets ${wanted}`;
  const answers = changeText(whole, split.figures);
  if (targets.length === 0) return `${split.cells} cells answer ${answers} in time than one controller`;
  return `Most cells with ${wanted}: ${split.cells}, which answer ${answers} in time than one controller`;
}

/** `0.4 pp ± 0.1 fewer requests`. */
function changeText(whole: readonly CellFigures[], figures: readonly CellFigures[]): string {
  const { mean: change } = changeOf(whole, figures);
  return `${pointsText(whole, figures)} ${change > 0 ? 'more' : 'fewer'} requests`;
}

/** The targets held against the chosen split, or against the fewest cells where none meets them. */
export function cellsCases({ splits, chosen, targets }: CellsResult): ThresholdCase[] {
  const split = splits.find(({ cells }) => cells === chosen) ?? splits[0]!;
  return targets.map((target, i) => {
    const figure = split.targets[i]!;
    return {
      run: '',
      threshold: target.text,
      ok: figure.meets === 'yes',
      actual: figure.estimate?.mean ?? figure.values.find((one) => !Number.isFinite(one)) ?? null,
      measured: `${estimateText(target, figure)} with ${split.cells} cells`,
    };
  });
}

/** One cluster and each number of cells; the first row is the header. */
export function compareRows({ whole, splits, gpus, targets }: CellsResult): string[][] {
  const header = ['cells', 'GPUs each', 'attainment', 'goodput/s', 'p99', 'cold starts', 'against 1'];
  const row = (figures: readonly CellFigures[]) => [
    attainmentText(figures),
    goodputText(figures),
    p99Text(figures),
    formatCount(mean(figures.map(({ coldStarts }) => coldStarts))),
  ];
  const meets = (text: string) => (targets.length === 0 ? [] : [text]);
  return [
    [...header, ...meets('meets')],
    ['1', String(gpus), ...row(whole), '', ...meets('')],
    ...splits.map((split) => [
      ...[String(split.cells), gpusEach(split), ...row(split.figures), signedText(whole, split.figures)],
      ...meets(MEETS[split.meets]),
    ]),
  ];
}

/** The cells of a split, one row each; the first row is the header. */
export function cellRows({ map, byCell }: Split): string[][] {
  const header = ['cell', 'GPUs', 'models', 'load', 'mean', 'peak', 'attainment', 'goodput/s', 'p99'];
  return [
    header,
    ...map.cells.map((cell, i) => {
      const size = sizeOf(cell);
      return [
        ...[cell.name, cell.gpus, String(cell.models.length), formatPercent(cell.loadShare)],
        ...[formatPercent(cell.load / size), formatPercent(cell.peakLoad / size)],
        ...[attainmentText(byCell[i]!), goodputText(byCell[i]!), p99Text(byCell[i]!)],
      ];
    }),
  ];
}

/** What changes against one controller: the mean of the differences of attainment, seed by seed. */
function changeOf(whole: readonly CellFigures[], figures: readonly CellFigures[]): Estimate {
  return estimate(whole.map(({ attainment }, seed) => figures[seed]!.attainment - attainment));
}

function signedText(whole: readonly CellFigures[], figures: readonly CellFigures[]): string {
  const { mean: change } = changeOf(whole, figures);
  return `${change > 0 ? '+' : change < 0 ? '−' : ''}${pointsText(whole, figures)}`;
}

function pointsText(whole: readonly CellFigures[], figures: readonly CellFigures[]): string {
  const { n, mean: change, high } = changeOf(whole, figures);
  const half = n < 2 ? '' : ` ± ${formatPoints(high - change)}`;
  return `${formatPoints(Math.abs(change))} pp${half}`;
}

function attainmentText(figures: readonly CellFigures[]): string {
  const { mean: share, n, high } = estimate(figures.map(({ attainment }) => attainment));
  return n < 2 ? formatPercent(share) : `${formatPercent(share)} ± ${formatPoints(high - share)}`;
}

function goodputText(figures: readonly CellFigures[]): string {
  return withInterval(estimate(figures.map(({ goodputRps }) => goodputRps)));
}

/** Mean over the seeds; `never` where it falls on requests that were not answered in time. */
function p99Text(figures: readonly CellFigures[]): string {
  const known = figures.flatMap(({ p99Ms }) => (p99Ms === null ? [] : [p99Ms]));
  const never = figures.length - known.length;
  if (never === 0) return formatMs(mean(known));
  return never === figures.length ? 'never' : `never with ${never} of ${figures.length} seeds`;
}

function gpusEach({ map }: Split): string {
  const sizes = map.cells.map(sizeOf);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  return least === most ? String(least) : `${least} to ${most}`;
}

function sizeOf({ gpus }: MappedCell): number {
  const [from, to] = gpus.split(':').map(Number) as [number, number];
  return to - from;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
