import type { SweepResults } from '../../record/results.js';
import { formatCount, formatPercent } from '../../text/numbers.js';
import { costTexts } from '../cost-text.js';
import type { Markup } from '../html/markup.js';
import { type CellText, type Column, msCell, rateCell, shareCell, table } from '../html/parts.js';
import { meanOfKnown, withInterval } from '../statistics.js';
import { cheapestFirst, pointColumns } from '../study/point-columns.js';
import { type Point, scoreOf } from '../study/points.js';

/** Every combination of a sweep, a line each. */
export function pointsTable(results: SweepResults): Markup {
  const names = pointColumns(results);
  const points = cheapestFirst(results);
  const isPriced = points.some(({ cost }) => cost !== null);
  const isWeighted = points.some(({ weighted }) => weighted !== null);
  const groupsOf = ({ groups }: Point) => (isWeighted || groups.length > 1 ? groups : []);
  const groups = points.slice(0, 1).flatMap(groupsOf);
  const tenants = tenantColumns(points);
  const columns: Column[] = [
    ...names.map(({ title, isNumber }) => ({
      title: title === 'fleet' ? 'Fleet' : title,
      numeric: isNumber,
    })),
    { title: 'Goodput (req/s)', numeric: true },
    { title: 'Offered (req/s)', numeric: true },
    { title: 'Attained', numeric: true },
    ...(isWeighted ? [{ title: 'By weight', numeric: true }] : []),
    { title: 'Worst model', numeric: true },
    { title: 'Models below 50 %', numeric: true },
    { title: 'Below 90 %', numeric: true },
    { title: 'p50', numeric: true },
    { title: 'p99', numeric: true },
    ...groups.flatMap(({ name }) => [
      { title: `${name} attained`, numeric: true },
      { title: `${name} p99`, numeric: true },
    ]),
    ...tenants.map(({ title }) => ({ title, numeric: true })),
    ...(isPriced ? ['Cost per hour', 'Per million in time'] : []).map((title) => ({ title, numeric: true })),
    { title: 'Runs', numeric: true },
  ];
  const rows = points.map((point: Point): CellText[] => [
    ...names.map(({ isNumber, textOf, sortOf }) => ({
      text: textOf(point),
      ...(isNumber ? { sort: sortOf(point) } : {}),
    })),
    { text: withInterval(point.goodputRps), sort: point.goodputRps?.mean ?? -1 },
    rateCell(point.offeredRps?.mean ?? null),
    shareCell(point.attainment?.mean ?? null),
    ...(isWeighted ? [{ text: formatPercent(scoreOf(point)), sort: scoreOf(point) }] : []),
    ...fairnessCells(point),
    msCell(point.p50Ms),
    msCell(point.p99Ms),
    ...groupsOf(point).flatMap(({ attainment, p99Ms }) => [
      shareCell(attainment?.mean ?? null),
      msCell(p99Ms),
    ]),
    ...tenants.map(({ of }) => shareCell(of(point))),
    ...(isPriced ? costCells(point) : []),
    { text: String(point.cells.length), sort: point.cells.length },
  ]);
  return table(columns, rows, true);
}

/** A column of attainment for each tenant of any run, mean over the runs in which it offered requests. */
function tenantColumns(points: readonly Point[]) {
  const summaries = points.flatMap(({ cells }) => cells.map(({ result }) => result.summary));
  const names = [...new Set(summaries.flatMap(({ tenants = [] }) => tenants.map(({ name }) => name)))];
  return names.map((name) => ({
    title: `Tenant ${name} attained`,
    of: ({ cells }: Point) =>
      meanOfKnown(
        cells.map(
          ({ result: { summary } }) =>
            summary.tenants?.find((each) => each.name === name)?.attainment ?? null,
        ),
      ),
  }));
}

function costCells({ cost }: Point): CellText[] {
  const [perHour, perMillion] = costTexts(cost);
  return [
    { text: perHour, sort: cost?.perHour ?? -1 },
    { text: perMillion, sort: cost?.perMillionInTime ?? Number.POSITIVE_INFINITY },
  ];
}

/** Fairness between models in the worst of the runs. */
function fairnessCells({ cells }: Point): CellText[] {
  const summaries = cells.map(({ result }) => result.summary);
  const attained = summaries.flatMap(({ worstModel }) => worstModel?.attainment ?? []);
  const worst = attained.length === 0 ? null : Math.min(...attained);
  const most = (read: (summary: (typeof summaries)[number]) => number) => {
    const count = Math.max(...summaries.map(read));
    return { text: formatCount(count), sort: count };
  };
  return [
    { text: worst === null ? '–' : formatPercent(worst), sort: worst ?? 2 },
    most(({ modelsBelow50 }) => modelsBelow50),
    most(({ modelsBelow90 }) => modelsBelow90),
  ];
}
