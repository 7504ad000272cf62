import { formatRate } from '../../text/numbers.js';
import { valuesLabel } from '../quantity.js';
import { headline, type Recommendation } from '../study/analyze.js';
import type { AxisValue } from '../study/axes.js';
import { goodputFinding } from '../study/finding.js';
import { type RatedPoint, ratedPoints } from '../study/points.js';
import { allPoints, namesAlongX, type Slice } from '../study/slices.js';
import { endLabels, seriesScale } from './end-labels.js';
import { goodputWords } from './goodput-words.js';
import { type ChartSpec, chart, INK, MUTED, niceTop } from './theme.js';
import { type AcrossNumbers, acrossNumbers, rangeOf } from './x-axis.js';

const WIDTH = 560;
const HEIGHT = 320;

/**
 * Goodput (by weight, if requests have classes) against a numeric key, one line per series: mean over seeds, a band for
 * its 95 % confidence interval if there are several, a ring around the best of each condition, and the default as a
 * rule. Values without a place on the axis are drawn to its right, as points.
 */
export function goodputLines(slice: Slice, recommendations: readonly Recommendation[]): ChartSpec {
  const { x, series } = slice;
  const points = ratedPoints(allPoints(slice));
  const across = acrossNumbers(slice, WIDTH, HEIGHT);
  const { width, encoding: xEncoding } = across;
  const names = series?.values.map(({ label }) => label) ?? ['goodput'];
  const rows = rowsOf(slice, across, recommendations);
  const onLines = { values: rows.filter((row) => !row.offAxis) };
  const offAxis = { values: rows.filter((row) => row.offAxis) };
  const offered = offeredLoad(points);
  const top = niceTop(Math.max(offered ?? 0, ...rows.map((row) => row.goodput)));
  const several = points.some(({ weightedGoodputRps }) => weightedGoodputRps.over !== null);
  const best = rows.filter((row) => row.best);

  const yScale = { domain: [0, top], nice: false };
  const { title, axis, unit } = goodputWords(points);
  const y = { field: 'goodput', type: 'quantitative', title: axis, scale: yScale };
  const style = (part: 'color' | 'dash' | 'shape') => {
    return { field: 'series', type: 'nominal', sort: null, legend: null, scale: seriesScale(names, part) };
  };
  const ends = names.map((name) => {
    const last = rows.findLast((row) => row.series === name);
    return last === undefined ? null : last.goodput / top;
  });

  const heading = {
    title: `${title} against ${x.label}${series === null ? '' : `, by ${series.label}`}`,
    subtitle: [
      goodputFinding(headline(recommendations), points),
      slice.common,
      ...(several ? ['bands: 95 % confidence'] : []),
      ...(best.length > 0 ? ['rings: best'] : []),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    width: width + 150,
  };
  return chart(heading, {
    width,
    height: HEIGHT,
    layer: [
      ...across.marks,
      ...(offered === null ? [] : offeredRule(offered, unit, y)),
      ...(x.isChoice && x.default !== null && withinRange(x.default, x.values)
        ? defaultRule(x.default, xEncoding)
        : []),
      ...(several
        ? [
            {
              data: onLines,
              mark: { type: 'area', opacity: 0.16, clip: true },
              encoding: {
                x: xEncoding,
                y: { ...y, field: 'low' },
                y2: { field: 'high' },
                color: style('color'),
              },
            },
            {
              data: offAxis,
              mark: { type: 'rule', strokeWidth: 1.4 },
              encoding: {
                x: xEncoding,
                y: { ...y, field: 'low' },
                y2: { field: 'high' },
                color: style('color'),
              },
            },
          ]
        : []),
      {
        data: onLines,
        mark: { type: 'line', strokeWidth: 2.2 },
        encoding: { x: xEncoding, y, color: style('color'), strokeDash: style('dash') },
      },
      {
        data: { values: rows },
        mark: { type: 'point', filled: true, size: 62, opacity: 1 },
        encoding: {
          x: xEncoding,
          y,
          color: style('color'),
          shape: style('shape'),
          tooltip: { field: 'note' },
        },
      },
      {
        data: { values: best },
        mark: {
          type: 'point',
          filled: false,
          shape: 'circle',
          size: 230,
          strokeWidth: 1.6,
          color: INK,
          opacity: 1,
        },
        encoding: { x: xEncoding, y },
      },
      ...(series === null ? [] : endLabels({ names, ends, title: series.label, width, height: HEIGHT })),
    ],
  });
}

function rowsOf(slice: Slice, { at }: AcrossNumbers, recommendations: readonly Recommendation[]) {
  const { series } = slice;
  // Groups are not ranked by goodput, but classes are by their weight.
  const bests = new Set(
    recommendations
      .map(({ best }) => best)
      .filter(({ groups, weighted }) => groups.length === 0 || weighted !== null),
  );
  const points = ratedPoints(allPoints(slice));
  const { unit } = goodputWords(points);
  const names = new Map(series?.values.map(({ text, label }) => [text, label]));
  const { isOffAxis } = namesAlongX(slice);
  return points.map((point) => ({
    x: at(point),
    goodput: point.weightedGoodputRps.mean,
    low: Math.max(0, point.weightedGoodputRps.low),
    // Goodput cannot exceed the offered load, even if the interval of a few seeds does.
    high: Math.min(
      point.weightedGoodputRps.high,
      Math.max(point.weightedGoodputRps.mean, point.weightedOfferedRps.mean),
    ),
    series: series === null ? 'goodput' : (names.get(point.values[series.key] ?? '') ?? ''),
    offAxis: isOffAxis(point),
    best: bests.has(point),
    note: `${valuesLabel(point.values)}: ${formatRate(point.weightedGoodputRps.mean)} ${unit}`,
  }));
}

function offeredRule(offered: number, unit: string, y: object) {
  const data = { values: [{ goodput: offered }] };
  const label = { type: 'text', align: 'left', baseline: 'bottom', x: 4, dy: -11, color: MUTED };
  return [
    { data, mark: { type: 'rule', strokeDash: [1, 3], color: MUTED, strokeWidth: 1.4 }, encoding: { y } },
    { data, mark: { ...label, text: `offered: ${formatRate(offered)} ${unit}` }, encoding: { y } },
  ];
}

function defaultRule(value: AxisValue, x: object) {
  const data = { values: [{ x: value.at }] };
  // Above the plot, where no line can cross it.
  const label = { type: 'text', baseline: 'bottom', y: -4, color: MUTED };
  return [
    { data, mark: { type: 'rule', strokeDash: [4, 3], color: MUTED }, encoding: { x } },
    { data, mark: { ...label, text: `default: ${value.label}` }, encoding: { x } },
  ];
}

/** Mean offered load if equal at all points within 2 %, else null. */
function offeredLoad(points: readonly RatedPoint[]): number | null {
  const loads = points.map((point) => point.weightedOfferedRps.mean);
  const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length;
  return loads.every((load) => Math.abs(load - mean) <= 0.02 * mean) ? mean : null;
}

function withinRange(value: AxisValue, values: readonly AxisValue[]): boolean {
  const [low, high] = rangeOf(values.filter(({ isWord }) => !isWord));
  return !value.isWord && value.at >= low && value.at <= high;
}
