import { formatMs, formatPercent, formatSlo } from '../../text/numbers.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import type { GroupPoint } from '../study/points.js';
import { allPoints, namesAlongX, type Slice } from '../study/slices.js';
import { endLabels, seriesScale } from './end-labels.js';
import { nameLabels } from './name-labels.js';
import { type ChartSpec, chart } from './theme.js';
import { acrossNumbers } from './x-axis.js';

const WIDTH = 270;
const HEIGHT = 210;
const COLUMNS = 2;
/** Possible starts of an axis: the highest one below all values is used. */
const FLOORS = [0.99, 0.98, 0.95, 0.9, 0.8, 0.5];

/**
 * Share of each group's requests that were answered in time, against the varied key: one panel per group, one line per
 * series. Lines join numbers only; names are side by side. Whiskers: 95 % confidence.
 */
export function groupAttainment(slice: Slice, findingText: string): ChartSpec {
  const { x } = slice;
  const points = allPoints(slice);
  const groups = points[0]?.groups ?? [];
  const several = points.some((point) =>
    point.groups.some(({ attainment }) => attainment != null && attainment.over !== null),
  );
  const lowest = Math.min(
    ...points.flatMap((point) => point.groups.flatMap(({ attainment }) => attainment?.low ?? [])),
  );
  const floor = FLOORS.find((share) => share <= lowest) ?? 0;
  const heading = {
    title: `Share answered in time, by ${points.some(({ weighted }) => weighted !== null) ? 'class' : 'group'}, against ${x.label}`,
    subtitle: [
      findingText,
      slice.common,
      ...(several ? ['whiskers: 95 % confidence'] : []),
      ...(floor === 0 ? [] : [`axes begin at ${Math.round(100 * floor)} %`]),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    width: Math.min(COLUMNS, groups.length) * (WIDTH + 150),
  };
  return chart(heading, {
    columns: COLUMNS,
    spacing: 34,
    concat: groups.map((group, i) =>
      panel(slice, group, i, { several: slice.series !== null && several, floor }),
    ),
  });
}

interface Row {
  readonly x: string | number;
  readonly offAxis: boolean;
  readonly series: string;
  /** Share answered in time; null, and without the following members: nothing was offered. */
  readonly share: number | null;
  readonly low?: number;
  readonly high?: number;
  readonly note?: string;
}

function panel(
  slice: Slice,
  group: GroupPoint,
  index: number,
  { several, floor }: { readonly several: boolean; readonly floor: number },
) {
  const { x, series } = slice;
  const names = series?.values.map(({ label }) => label) ?? [group.name];
  const along = namesAlongX(slice);
  const numbers = x.kind === 'number' ? acrossNumbers(slice, WIDTH, HEIGHT) : null;
  const rows = allPoints(slice).flatMap((point): Row[] => {
    const here = point.groups[index];
    if (here === undefined) return [];
    const { attainment } = here;
    const place = {
      x: numbers?.at(point) ?? along.of(point),
      offAxis: along.isOffAxis(point),
      series: series === null ? group.name : valueLabel(point.values[series.key] ?? ''),
    };
    // Nothing was offered: a gap.
    if (attainment === null) return [{ ...place, share: null }];
    const { mean, low, high } = attainment;
    return [
      {
        ...place,
        share: mean,
        low: Math.max(0, low),
        high: Math.min(1, high),
        note: `${valuesLabel(point.values)}: ${formatPercent(mean)}, p99 ${formatMs(here.p99Ms)}`,
      },
    ];
  });
  const known = rows.filter(({ share }) => share !== null);
  const across = numbers?.encoding ?? {
    field: 'x',
    type: 'nominal',
    title: x.title,
    sort: along.labels,
    axis: nameLabels(along.labels, WIDTH),
  };
  const width = numbers?.width ?? WIDTH;
  const y = {
    field: 'share',
    type: 'quantitative',
    title: index % COLUMNS === 0 ? 'answered in time' : null,
    scale: { domain: [floor, 1 + 0.02 * (1 - floor)], nice: false },
    axis: { format: '~%', values: [0, 1, 2, 3, 4, 5].map((step) => floor + (step * (1 - floor)) / 5) },
  };
  const style = (part: 'color' | 'dash' | 'shape') => {
    return { field: 'series', type: 'nominal', sort: null, legend: null, scale: seriesScale(names, part) };
  };
  const ends = names.map((name) => {
    const last = known.findLast((row) => row.series === name);
    return last === undefined ? null : (last.share! - floor) / (1 - floor);
  });
  const data = { values: known };
  return {
    title: { text: titleOf(group, known.length === 0), anchor: 'start', fontSize: 13, offset: 8 },
    width,
    height: HEIGHT,
    layer: [
      ...(numbers?.marks ?? []),
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
              data: { values: rows.filter((row) => !row.offAxis) },
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
      ...(series === null ? [] : endLabels({ names, ends, title: series.label, width, height: HEIGHT })),
    ],
  };
}

function titleOf({ name, sloMs }: GroupPoint, isEmpty: boolean): string {
  const title = sloMs === null ? name : `${name}, SLO ${formatSlo(sloMs)}`;
  return isEmpty ? `${title}: none offered` : title;
}
