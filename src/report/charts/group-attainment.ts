import { formatMs, formatPercent, formatSlo } from '../format.js';
import type { GroupPoint, Point } from '../points.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import type { Slice } from '../slices.js';
import { endLabels, seriesScale } from './end-labels.js';
import { type ChartSpec, chart } from './theme.js';
import { xAxis, xScale } from './x-axis.js';

const WIDTH = 270;
const HEIGHT = 210;
const COLUMNS = 2;

/**
 * Share of each group's requests that were answered in time, against the varied key: a panel a group, a line
 * a series. Lines join numbers only; names stand side by side. Whiskers: 95 % confidence.
 */
export function groupAttainment(slice: Slice, findingText: string): ChartSpec {
  const { x, series, points } = slice;
  const groups = points[0]?.groups ?? [];
  const several = points.some((point) => point.cells.length > 1);
  const heading = {
    title: `Share answered in time, by group, against ${x.label}`,
    subtitle: [
      findingText,
      ...(Object.keys(slice.fixed).length === 0 ? [] : [valuesLabel(slice.fixed)]),
      ...(several ? ['whiskers: 95 % confidence'] : []),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    width: Math.min(COLUMNS, groups.length) * (WIDTH + 150),
  };
  return chart(heading, {
    columns: COLUMNS,
    spacing: 34,
    concat: groups.map((group, i) => panel(slice, group, i, series !== null && several)),
  });
}

function panel({ x, series, points }: Slice, group: GroupPoint, index: number, several: boolean) {
  const names = series?.values.map(({ label }) => label) ?? [group.name];
  const seriesOf = (point: Point) =>
    series === null ? group.name : valueLabel(point.values[series.key] ?? '');
  const rows = points.flatMap((point) => {
    const here = point.groups[index];
    const value = x.values.find(({ text }) => text === point.values[x.key]);
    if (here === undefined || value === undefined) return [];
    const { mean, low, high } = here.sloAttainment;
    const row = { series: seriesOf(point), share: mean, low: Math.max(0, low), high: Math.min(1, high) };
    const note = `${valuesLabel(point.values)}: ${formatPercent(mean)}, p99 ${formatMs(here.p99Ms?.mean ?? null)}`;
    return [{ ...row, x: x.kind === 'number' ? value.at : value.label, note }];
  });
  const across =
    x.kind === 'number'
      ? { field: 'x', type: 'quantitative', title: x.title, scale: xScale(x.values), axis: xAxis(x.values) }
      : {
          field: 'x',
          type: 'nominal',
          title: x.title,
          sort: x.values.map(({ label }) => label),
          axis: { labelAngle: 0 },
        };
  const y = {
    field: 'share',
    type: 'quantitative',
    title: index % COLUMNS === 0 ? 'answered in time' : null,
    scale: { domain: [0, 1.02], nice: false },
    axis: { format: '.0%', values: [0, 0.2, 0.4, 0.6, 0.8, 1] },
  };
  const style = (part: 'color' | 'dash' | 'shape') => {
    return { field: 'series', type: 'nominal', sort: null, legend: null, scale: seriesScale(names, part) };
  };
  const ends = names.map((name) => rows.findLast((row) => row.series === name)?.share ?? null);
  const data = { values: rows };
  return {
    title: { text: titleOf(group), anchor: 'start', fontSize: 13, offset: 8 },
    width: WIDTH,
    height: HEIGHT,
    layer: [
      ...(several
        ? [
            {
              data,
              mark: { type: 'rule', strokeWidth: 1.4 },
              encoding: {
                x: across,
                y: { ...y, field: 'low' },
                y2: { field: 'high' },
                color: style('color'),
              },
            },
          ]
        : []),
      ...(x.kind === 'number'
        ? [
            {
              data,
              mark: { type: 'line', strokeWidth: 2.2 },
              encoding: { x: across, y, color: style('color'), strokeDash: style('dash') },
            },
          ]
        : []),
      {
        data,
        mark: { type: 'point', filled: true, size: 62, opacity: 1 },
        encoding: { x: across, y, color: style('color'), shape: style('shape'), tooltip: { field: 'note' } },
      },
      ...(series === null
        ? []
        : endLabels({ names, ends, title: series.label, width: WIDTH, height: HEIGHT })),
    ],
  };
}

function titleOf({ name, sloMs }: GroupPoint): string {
  return sloMs === null ? name : `${name}, SLO ${formatSlo(sloMs)}`;
}
