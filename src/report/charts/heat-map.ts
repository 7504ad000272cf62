import { formatRate } from '../../text/numbers.js';
import { capital } from '../../text/words.js';
import { valuesLabel } from '../quantity.js';
import { headline, type Recommendation } from '../study/analyze.js';
import type { Axis } from '../study/axes.js';
import { bestOf, finding, servedGroups } from '../study/finding.js';
import { measureOf, type Point, scoreOf } from '../study/points.js';
import { allPoints, namesAlongX, type Slice } from '../study/slices.js';
import { nameLabels } from './name-labels.js';
import { type ChartSpec, chart, INK, joined, MUTED } from './theme.js';

/** Cell colours from nothing to all of the offered load: text in ink has a contrast of at least 6 to them. */
const GROUNDS = ['#f1f5fa', '#7fa8d6'];
const MAX_WIDTH = 680;

/**
 * Goodput as a share of the offered load (with groups, that of the worst-served one) for every pair of values: one row
 * per condition (SLO), one column per choice (schedule_ahead). The figures are in the cells, so it reads without
 * colour; the best cell of each condition has a frame, the default's column a mark.
 */
export function heatMap(slice: Slice, recommendations: readonly Recommendation[]): ChartSpec {
  const [columns, rows] = planeOf(slice);
  const points = allPoints(slice);
  const names = namesAlongX(slice);
  const along = (axis: Axis, point: Point) => (axis === slice.x ? names.of(point) : labelOf(axis, point));
  const labelsOf = (axis: Axis) => {
    const labels = axis === slice.x ? names.labels : axis.values.map(({ label }) => label);
    return labels.filter(
      (label, i) => labels.indexOf(label) === i && points.some((point) => along(axis, point) === label),
    );
  };
  const columnLabels = labelsOf(columns);
  const cellWidth = Math.max(26, Math.min(64, Math.floor(MAX_WIDTH / columnLabels.length)));
  const cellHeight = 34;
  const grouped = points.some(({ groups }) => groups.length > 0);
  const best = new Set(recommendations.map((recommendation) => recommendation.best));
  const cells = points.map((point) => {
    const share = shareOf(point);
    return {
      column: along(columns, point),
      row: rows === null ? '' : along(rows, point),
      share,
      text: percentText(share, cellWidth >= 44 ? 1 : 0),
      best: best.has(point),
      note: `${valuesLabel(point.values)}: ${noteOf(point)}`,
    };
  });
  const x = {
    field: 'column',
    type: 'ordinal',
    sort: columnLabels,
    title: columns.title,
    axis: {
      ...nameLabels(columnLabels, cellWidth * columnLabels.length),
      orient: 'bottom',
      labelExpr: bareLabel(columns),
      labelOverlap: false,
      domain: false,
      ticks: false,
    },
  } as const;
  const y = {
    field: 'row',
    type: 'ordinal',
    sort: rows === null ? null : labelsOf(rows),
    title: rows?.label ?? null,
    axis: rows === null ? null : { domain: false, ticks: false, labelPadding: 8 },
  } as const;
  const marked = columns.isChoice
    ? columnLabels.find((label) => label === columns.default?.label)
    : undefined;

  return chart(
    {
      title: `${grouped ? `${capital(measureOf(points[0]!))} in percent` : 'Goodput in percent of the offered load'}, ${rows === null ? '' : `${rows.label} × `}${columns.label}`,
      subtitle: joined(
        finding(headline(recommendations)),
        slice.common,
        best.size > 0 ? `framed: ${bestOf(recommendations)}` : '',
      ),
      width: Math.max(620, cellWidth * columnLabels.length + 120),
    },
    {
      width: { step: cellWidth },
      height: { step: cellHeight },
      layer: [
        {
          data: { values: cells },
          mark: { type: 'rect', stroke: '#ffffff', strokeWidth: 1.5 },
          encoding: {
            x,
            y,
            color: {
              field: 'share',
              type: 'quantitative',
              legend: null,
              scale: { domain: [0, 1], range: GROUNDS },
            },
            tooltip: { field: 'note' },
          },
        },
        {
          data: { values: cells.filter((cell) => cell.best) },
          mark: {
            ...{ type: 'rect', fill: null, stroke: INK, strokeWidth: 2.5 },
            ...{ width: { band: 0.9 }, height: { band: 0.84 } },
          },
          encoding: { x, y },
        },
        {
          data: { values: cells },
          mark: { type: 'text', fontSize: 12 },
          encoding: { x, y, text: { field: 'text' } },
        },
        ...(marked === undefined
          ? []
          : [
              {
                data: { values: [{ column: marked }] },
                mark: { type: 'text' as const, y: -8, fontSize: 11, color: MUTED, text: '↓ default' },
                encoding: { x },
              },
            ]),
      ],
    },
  );
}

/** Columns and rows: a choice goes along the columns, regardless of the slice's orientation. */
function planeOf({ x, series }: Slice): [Axis, Axis | null] {
  return series?.isChoice && !x.isChoice ? [series, x] : [x, series];
}

function shareOf(point: Point): number {
  if (point.groups.length > 0) return scoreOf(point);
  const [goodput, offered] = [point.goodputRps!.mean, point.offeredRps!.mean];
  return offered === 0 ? 0 : Math.min(1, goodput / offered);
}

/** 0 is written only for exactly none, and 100 only for all, however close a share is. */
function percentText(share: number, digits: number): string {
  if (share === 1) return '100';
  const steps = 10 ** digits;
  if (share > 0 && share * 100 * steps < 0.5) return `<${1 / steps}`;
  return (Math.min(Math.round(share * 100 * steps), 100 * steps - 1) / steps).toFixed(digits);
}

function noteOf(point: Point): string {
  if (point.groups.length > 0) return servedGroups(point);
  return `${formatRate(point.goodputRps!.mean)} of ${formatRate(point.offeredRps!.mean)} req/s`;
}

function labelOf(axis: Axis, point: Point): string {
  return axis.values.find(({ text }) => text === point.values[axis.key])?.label ?? '';
}

/** The unit is in the axis title if all numbers share it. */
function bareLabel(axis: Axis): string {
  const numbers = axis.values.filter(({ isWord }) => !isWord);
  return axis.unit === 'ms' && numbers.every(({ label }) => label.endsWith(' ms'))
    ? "replace(datum.label, / ms$/, '')"
    : 'datum.label';
}
