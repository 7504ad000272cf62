import { figureOf } from '../../record/figures.js';
import { FEWEST_REQUESTS, isAssessed } from '../../record/model-fairness.js';
import type { SweepResults } from '../../record/results.js';
import { formatCount, formatFactor, round3 } from '../../text/numbers.js';
import { capital, plural } from '../../text/words.js';
import { chartsLeftOut } from '../charts/chart-sets.js';
import {
  type Block,
  type CellText,
  type Column,
  countCell,
  type Document,
  msCell,
  numberCell,
  percentCell,
  type Section,
  type Table,
} from '../document.js';
import { present } from '../lists.js';
import { costTexts, kindOfGpus, takeFleet, valuesLabel } from '../quantity.js';
import { sweepCommand } from '../reproduce.js';
import { type Estimate, meanOfKnown, shareWithInterval, withInterval } from '../statistics.js';
import { failedCells, type Recommendation, recommend, requirementOf } from '../study/analyze.js';
import {
  aggregate,
  fixedValues,
  measureOf,
  type Point,
  placeCell,
  scoreOf,
  sortPoints,
  sweepAxes,
} from '../study/points.js';
import { verdict } from '../study/verdict.js';
import { experimentToRun, policyNotes } from './blocks.js';

/** Report of a sweep: the choice, every combination with its figures, charts, failures and provenance. */
export function sweepDocument(results: SweepResults): Document {
  const { title, lines, flags } = verdict(results);
  const leftOut = chartsLeftOut(results);
  const summaries = aggregate(results).flatMap(({ cells }) => cells.map(({ result }) => result.summary));
  return {
    kind: `escapement sweep · ${results.name}`,
    title,
    lead: lines,
    sections: [
      { title: '', blocks: policyNotes(summaries), only: 'page' },
      { title: '', blocks: [{ text: provenance(results) }] },
      { title: 'Results', blocks: [{ table: pointsTable(results) }] },
      { title: '', blocks: [{ text: readings(results), tone: 'small' }], only: 'page' },
      {
        title: 'Charts',
        blocks: [...(leftOut === '' ? [] : [{ text: leftOut }]), { charts: true as const }],
      },
      ...(flags === null ? [] : [{ title: 'Flags', blocks: [{ code: flags }] }]),
      ...failedSection(results),
      { title: 'Reproduce', blocks: reproduction(results), only: 'page' },
    ],
  };
}

/** `schedule-ahead: 378 runs of 126 combinations, seeds 1, 2, 3; admission none`. */
function provenance(results: SweepResults): string {
  const { name, cells, seeds } = results;
  const combinations = new Set(cells.map(({ values }) => JSON.stringify(values))).size;
  const seeded = aggregate(results).some(({ isOneSample }) => !isOneSample);
  return [
    `${name}: ${plural(cells.length, 'run')} of ${plural(combinations, 'combination')}`,
    ...(seeded ? [`, seed${seeds.length === 1 ? '' : 's'} ${seeds.join(', ')}`] : []),
    ...Object.entries(fixedValues(results)).map(([key, value]) => `; ${valuesLabel({ [key]: value })}`),
  ].join('');
}

function readings(results: SweepResults): string {
  const points = aggregate(results);
  const ranking = recommend(results)[0]?.ranking;
  const best =
    ranking === 'score' || ranking === 'missed'
      ? `Best: the highest mean ${points[0] === undefined ? 'goodput' : measureOf(points[0])}; a tie differs by less than 0.1 %, or its difference from the best has 0 in its 95 % confidence interval.`
      : ranking === 'price' &&
        'Cheapest: the lowest price per hour, or the fewest GPU-hours, of those that do what is required.';
  const worst = worstTitle(points);
  return present(
    best,
    worst !== false &&
      `${capital(worst)}: the lowest attainment of any with at least ${FEWEST_REQUESTS} requests, in the worst run.`,
  ).join(' ');
}

/** Column of `worstPart`; false: a run has one pipeline. */
function worstTitle([first]: readonly Point[]): string | false {
  const pipelines = first?.cells[0]?.result.summary.by.pipeline?.length ?? 0;
  return pipelines !== 1 && (pipelines > 1 ? 'worst pipeline' : 'worst model');
}

/** A column of a table with a row per point. */
interface PointColumn extends Column {
  cell(point: Point): CellText;
}

/** Every combination, a row each: its values, its standing and its figures. */
function pointsTable(results: SweepResults): Table {
  const axes = sweepAxes(results);
  const recommendations = recommend(results);
  const points = sortPoints(aggregate(results), [
    ...axes.filter(({ isChoice }) => !isChoice),
    ...axes.filter(({ isChoice }) => isChoice),
  ]);
  const marks = marksOf(recommendations);
  const columns = present<PointColumn>(
    ...placeColumns(results),
    recommendations.length > 0 && {
      title: '',
      cell: (point) => ({ text: marks.get(point)?.join(', ') ?? '', strong: true }),
    },
    ...figureColumns(results, points, recommendations),
  );
  return {
    columns,
    rows: points.map((point) => columns.map(({ cell }) => cell(point))),
    sortable: true,
    ...(marks.size === 0
      ? {}
      : { marked: points.map((point) => marks.get(point)?.some((mark) => mark !== 'tie') ?? false) }),
  };
}

/** Standing of points: the best of each condition, its ties, and the default. */
function marksOf(recommendations: readonly Recommendation[]): Map<Point, string[]> {
  const marks = new Map<Point, string[]>();
  const mark = (point: Point, text: string) => marks.set(point, [...(marks.get(point) ?? []), text]);
  for (const { best, tied, default: usual, ranking } of recommendations) {
    mark(best, ranking === 'price' ? 'cheapest' : 'best');
    for (const point of tied) mark(point, 'tie');
    if (usual !== null) mark(usual, 'default');
  }
  return marks;
}

/** Columns that identify a point; numbers of GPUs of several kinds are one column. */
function placeColumns(results: SweepResults): PointColumn[] {
  const all = sweepAxes(results);
  const axes = [...all.filter(({ isChoice }) => !isChoice), ...all.filter(({ isChoice }) => isChoice)];
  const counts = axes.filter(({ key }) => kindOfGpus(key) !== null);
  return axes.flatMap((axis): PointColumn[] => {
    const { label, kind } = axis;
    if (counts.length > 1 && counts.includes(axis)) {
      const cell = (point: Point) => ({ text: takeFleet(point.values).fleet ?? '–' });
      return axis === counts[0] ? [{ title: 'fleet', cell }] : [];
    }
    return [{ title: label, numeric: kind === 'number', cell: (point) => placeCell(axis, point.values) }];
  });
}

function figureColumns(
  results: SweepResults,
  points: readonly Point[],
  recommendations: readonly Recommendation[],
): PointColumn[] {
  const figure = (title: string, cell: PointColumn['cell'], pageOnly = false): PointColumn => {
    return { title, numeric: true, cell, pageOnly };
  };
  const some = (has: (point: Point) => boolean) => points.some(has);
  const groups = points[0]?.groups ?? [];
  const gains = gainsOf(recommendations);
  const meets = requirementOf(results);
  const ofGroups = groups.flatMap(({ name }, i) => [
    figure(name, (point) => percentCell(point.groups[i]?.attainment?.mean ?? null)),
    figure(`${name} p99`, (point) => msCell(point.groups[i]?.p99Ms ?? null), true),
  ]);
  const worst = worstTitle(points);
  const hasCost = some(({ cost }) => cost !== null);
  return present(
    figure('req/s', ({ goodputRps }) => estimateCell(withInterval, goodputRps)),
    gains.size > 0 && figure('× default', (point) => numberCell(formatFactor)(gains.get(point) ?? null)),
    figure('offered', ({ offeredRps }) => estimateCell(withInterval, offeredRps), true),
    figure('attainment', ({ attainment }) => estimateCell(shareWithInterval, attainment)),
    some(({ weighted }) => weighted !== null) &&
      figure('attainment by weight', ({ weighted }) => percentCell(weighted?.mean ?? null)),
    ...(groups.length > 1 ? ofGroups : []),
    ...(['accuracy', 'accurateAttainment'] as const).flatMap((name) =>
      some((point) => meanOfSome(point, name) !== null)
        ? figure(figureOf(name)!.label, (point) => percentCell(meanOfSome(point, name)))
        : [],
    ),
    worst !== false && figure(worst, (point) => percentCell(worstPart(point))),
    figure('p50', ({ p50Ms }) => msCell(p50Ms), true),
    figure('p99', ({ p99Ms }) => msCell(p99Ms)),
    some(({ cells }) => cells.some(({ result }) => result.summary.scaling !== undefined)) &&
      figure('GPU-hours', ({ gpuHours }) => ({
        text: gpuHours === null ? '–' : String(round3(gpuHours)),
        sort: gpuHours ?? -1,
      })),
    hasCost && figure('per hour', ({ cost }) => ({ text: costTexts(cost)[0], sort: cost?.perHour ?? -1 })),
    hasCost &&
      figure('per million in time', ({ cost }) => ({
        text: costTexts(cost)[1],
        sort: cost?.perMillionInTime ?? Number.POSITIVE_INFINITY,
      })),
    results.required && {
      title: results.required.join(' and '),
      cell: (point: Point) => ({ text: meets(point) ? 'met' : 'missed' }),
    },
    figure('runs', ({ cells }) => countCell(cells.length), true),
  );
}

/** Score of each point relative to the default under the same conditions. */
function gainsOf(recommendations: readonly Recommendation[]): Map<Point, number> {
  return new Map(
    recommendations.flatMap(({ points, default: usual, ranking }) => {
      if (usual === null || ranking === 'price') return [];
      const base = scoreOf(usual);
      const gain = (score: number) => (base === 0 && score === 0 ? 1 : score / base);
      return points.map((point) => [point, gain(scoreOf(point))] as const);
    }),
  );
}

/** Lowest share in time of an assessed model in any of the runs, or of a pipeline if there are any. */
function worstPart({ cells }: Point): number | null {
  const shares = cells.flatMap(({ result: { summary } }) =>
    summary.by.pipeline === undefined
      ? (summary.worstModel?.attainment ?? [])
      : summary.by.pipeline.filter(isAssessed).flatMap(({ attainment }) => attainment ?? []),
  );
  return shares.length === 0 ? null : Math.min(...shares);
}

/** Mean over the runs that have the figure; null: none has. */
function meanOfSome({ cells }: Point, name: 'accuracy' | 'accurateAttainment'): number | null {
  return meanOfKnown(cells.map(({ result }) => result.summary[name] ?? null));
}

function failedSection(results: SweepResults): Section[] {
  const failed = failedCells(results);
  if (failed.length === 0) return [];
  const table = {
    columns: ['combination', 'seed', 'code', 'message'].map((title) => ({
      title,
      wraps: title === 'message',
    })),
    rows: failed.map(({ values, seed, code, message }) =>
      [valuesLabel(values) || '–', String(seed), code, message].map((text) => ({ text })),
    ),
  };
  return [{ title: 'Failed runs', blocks: [{ table }] }];
}

function reproduction(results: SweepResults): Block[] {
  const { escapement, experiment, cells } = results;
  const digests = cells.flatMap((cell) =>
    cell.status === 'done' ? [[{ text: cell.id }, { text: cell.result.summary.digest }]] : [],
  );
  const version = escapement === undefined ? '' : `It ran with escapement ${escapement}. `;
  return [
    ...experimentToRun(experiment, sweepCommand(results)),
    {
      text: `${version}The same seeds, configuration, profiles and version give the same results on any machine, with any number of threads.`,
    },
    {
      details: `Decision digests of all ${formatCount(digests.length)} finished runs`,
      blocks: [{ table: { columns: [{ title: 'Run' }, { title: 'Digest' }], rows: digests } }],
    },
  ];
}

/** A figure with its interval, which sorts by mean. */
function estimateCell(format: (figure: Estimate | null) => string, figure: Estimate | null): CellText {
  return { text: format(figure), sort: figure?.mean ?? -1 };
}
