import { formatMs, formatPercent, formatRate, formatSlo } from '../../text/numbers.js';
import { present } from '../lists.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import { clipped, type Estimate } from '../statistics.js';
import { headline, type Recommendation } from '../study/analyze.js';
import type { Axis } from '../study/axes.js';
import { bestOf, goodputFinding } from '../study/finding.js';
import { type GroupPoint, type Point, ratedPoints } from '../study/points.js';
import { nameAlongX, placeAlongX, type Slice } from '../study/slices.js';
import {
  type ChartSpec,
  chart,
  INK,
  joined,
  labelledRule,
  niceTop,
  numberScale,
  seriesEncoding,
  seriesStyles,
} from './theme.js';

/** Size of the goodput panel and of the panels of groups, px. */
const LARGE = { width: 560, height: 320 };
const SMALL = { width: 270, height: 210 };
const COLUMNS = 2;
/** Possible starts of an axis of shares: the highest one below all values is used. */
const FLOORS = [0.99, 0.98, 0.95, 0.9, 0.8, 0.5];

/**
 * Goodput (by weight, if requests have classes) against a key, one line per series: means with their 95 % confidence
 * intervals, a ring around the best of each condition, and the default as a rule.
 */
export function goodputLines(slice: Slice, recommendations: readonly Recommendation[]): ChartSpec {
  const points = ratedPoints(slice.points);
  const isWeighted = points.some(({ weighted }) => weighted !== null);
  const unit = isWeighted ? 'weight/s' : 'req/s';
  const loads = points.map(({ weightedOfferedRps }) => weightedOfferedRps.mean);
  const load = loads.reduce((sum, one) => sum + one, 0) / loads.length;
  // No rule if the load varies.
  const offered = loads.every((one) => Math.abs(one - load) <= 0.02 * load) ? load : null;
  const most = Math.max(...points.map(({ weightedGoodputRps }) => weightedGoodputRps.mean));
  const top = niceTop(Math.max(offered ?? 0, most));
  // Groups are not ranked by goodput; classes are, by their weight.
  const ranked = recommendations.filter(({ best }) => best.groups.length === 0 || best.weighted !== null);
  const bests = new Set(ranked.map(({ best }) => best));
  const { spec, width, hasIntervals } = panel(slice, LARGE, {
    name: 'goodput',
    // Goodput cannot exceed the offered load, even if the interval of a few seeds does.
    of: ({ weightedGoodputRps, weightedOfferedRps }) =>
      weightedGoodputRps && clipped(weightedGoodputRps, weightedOfferedRps?.mean),
    note: ({ weightedGoodputRps }) => `${formatRate(weightedGoodputRps?.mean ?? null)} ${unit}`,
    y: {
      title: `goodput (${isWeighted ? 'weight/s' : 'requests/s'})`,
      scale: { domain: [0, top], nice: false },
    },
    bests,
    rule: offered === null ? null : { at: offered, text: `offered: ${formatRate(offered)} ${unit}` },
  });
  const heading = {
    title: `${isWeighted ? 'Goodput by weight' : 'Goodput'} against ${slice.x.label}${slice.series === null ? '' : `, by ${slice.series.label}`}`,
    subtitle: joined(
      goodputFinding(headline(recommendations), points),
      slice.common,
      hasIntervals ? 'bars: 95 % confidence' : '',
      points.some((point) => bests.has(point)) ? `rings: ${bestOf(ranked)}` : '',
    ),
    width: width + 70,
    fluid: true,
  };
  return chart(heading, spec);
}

/** Share of each group's requests that were answered in time, against a key: one panel per group. */
export function groupLines(slice: Slice, findingText: string): ChartSpec {
  const { points } = slice;
  const groups = points[0]?.groups ?? [];
  const attained = points.flatMap((point) => point.groups.flatMap(({ attainment }) => attainment ?? []));
  const lowest = Math.min(...attained.map(({ low }) => low));
  const floor = FLOORS.find((share) => share <= lowest) ?? 0;
  const panels = groups.map((group, i) =>
    panel(slice, SMALL, {
      name: group.name,
      of: ({ groups: own }) => own[i]?.attainment && clipped(own[i].attainment, 1),
      note: ({ groups: own }) =>
        `${formatPercent(own[i]?.attainment?.mean ?? null)}, p99 ${formatMs(own[i]?.p99Ms ?? null)}`,
      y: {
        title: i % COLUMNS === 0 ? 'attainment' : null,
        scale: { domain: [floor, 1 + 0.02 * (1 - floor)], nice: false },
        axis: { format: '~%', values: [0, 1, 2, 3, 4, 5].map((step) => floor + (step * (1 - floor)) / 5) },
      },
      bests: new Set(),
      rule: null,
    }),
  );
  const heading = {
    title: `Attainment by ${points.some(({ weighted }) => weighted !== null) ? 'class' : 'group'} against ${slice.x.label}`,
    subtitle: joined(
      findingText,
      slice.common,
      panels.some(({ hasIntervals }) => hasIntervals) ? 'bars: 95 % confidence' : '',
      floor === 0 ? '' : `axes begin at ${Math.round(100 * floor)} %`,
    ),
    width: Math.min(COLUMNS, groups.length) * (SMALL.width + 70),
  };
  const concat = panels.map(({ spec, isEmpty }, i) => ({
    title: { text: titleOf(groups[i]!, isEmpty), anchor: 'start', fontSize: 13, offset: 8 },
    ...spec,
  }));
  const shared = { color: 'shared', shape: 'shared', strokeDash: 'shared' };
  const resolve = { scale: shared, legend: shared };
  return chart(heading, { columns: COLUMNS, spacing: 34, concat, resolve });
}

function titleOf({ name, sloMs }: GroupPoint, isEmpty: boolean): string {
  const title = sloMs === null ? name : `${name}, SLO ${formatSlo(sloMs)}`;
  return isEmpty ? `${title}: none offered` : title;
}

/** Figure of each point that a panel shows. */
interface Measure {
  /** Name of the line if there is no series. */
  readonly name: string;
  /** Null: a gap. */
  of(point: Point): Estimate | null | undefined;
  /** Tooltip. */
  note(point: Point): string;
  readonly y: object;
  readonly bests: ReadonlySet<Point>;
  /** A horizontal rule with its label. */
  readonly rule: { readonly at: number; readonly text: string } | null;
}

/**
 * Lines join numbers only. Numbers have a proportional axis; names, also next to numbers, such as `auto` or a policy
 * without the key along x, are evenly spaced.
 */
function panel(slice: Slice, size: { readonly width: number; readonly height: number }, measure: Measure) {
  const { x, series, points } = slice;
  const hasLines = x.kind === 'number';
  const values = x.values.map(({ label }) => label);
  const labels = [...new Set([...values, ...points.map((point) => nameAlongX(slice, point))])];
  const names = series?.values.map(({ label }) => label) ?? [measure.name];
  const isProportional = points.every((point) => placeAlongX(slice, point) !== null);
  const numbers = isProportional
    ? numberScale(x.values.flatMap(({ at, isWord }) => (isWord ? [] : at)))
    : null;
  const rows = points.map((point) => {
    const place = placeAlongX(slice, point);
    return {
      x: isProportional ? place : nameAlongX(slice, point),
      isNumber: place !== null,
      ...rowOf(point, slice, measure),
    };
  });
  const known = rows.filter(({ value }) => value !== null);
  const hasIntervals = known.some(({ low, high }) => low !== high);
  const width = hasLines ? size.width : Math.max(size.width, 2 * 24 * labels.length);
  const across = {
    field: 'x',
    ...(numbers === null
      ? { type: 'nominal', title: x.label, sort: labels, axis: nameLabels(labels, width) }
      : { type: 'quantitative', title: x.title, ...numbers }),
  };
  // At each name, several series are side by side.
  const xOffset = { field: 'series', type: 'nominal', sort: names, scale: { paddingOuter: 1 } };
  const place = { x: across, ...(hasLines || series === null ? {} : { xOffset }) };
  const y = { field: 'value', type: 'quantitative', ...measure.y };
  const style = seriesEncoding('series', names, seriesStyles(names), { title: series?.label ?? null });
  const ring = { type: 'point', filled: false, shape: 'circle', size: 230, strokeWidth: 1.6, color: INK };
  const layer = present<object>(
    ...(measure.rule === null ? [] : ruleLayers(measure.rule, y)),
    ...(numbers !== null && x.isChoice ? defaultRule(x, across) : []),
    hasIntervals && {
      data: { values: known },
      mark: { type: 'rule', strokeWidth: 1.4 },
      encoding: { ...place, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: style('color') },
    },
    hasLines && {
      data: { values: rows.filter(({ isNumber }) => isNumber) },
      mark: { type: 'line', strokeWidth: 2.2 },
      encoding: { x: across, y, color: style('color'), strokeDash: style('dash') },
    },
    {
      data: { values: known },
      mark: { type: 'point', filled: true, size: 62, opacity: 1 },
      encoding: { ...place, y, color: style('color'), shape: style('shape'), tooltip: { field: 'note' } },
    },
    {
      data: { values: known.filter(({ best }) => best) },
      mark: { ...ring, opacity: 1 },
      encoding: { ...place, y },
    },
  );
  return {
    spec: { width, height: size.height, layer },
    ...{ width, hasIntervals, isEmpty: known.length === 0 },
  };
}

function rowOf(point: Point, { series }: Slice, measure: Measure) {
  const estimate = measure.of(point) ?? null;
  return {
    value: estimate?.mean ?? null,
    low: estimate?.low ?? null,
    high: estimate?.high ?? null,
    series: series === null ? measure.name : valueLabel(point.values[series.key] ?? ''),
    best: measure.bests.has(point),
    note: `${valuesLabel(point.values)}: ${measure.note(point)}`,
  };
}

function ruleLayers({ at, text }: { at: number; text: string }, y: object) {
  const label = { align: 'left', baseline: 'bottom', x: 4, dy: -11, text };
  return labelledRule({ y }, { value: at }, { strokeDash: [1, 3], strokeWidth: 1.4 }, label);
}

/** Rule at the default, if it is within the range of the numbers. */
function defaultRule({ default: usual, values }: Axis, x: object) {
  const places = values.flatMap(({ at, isWord }) => (isWord ? [] : at));
  if (usual === null || usual.at < Math.min(...places) || usual.at > Math.max(...places)) return [];
  // Above the plot, where no line crosses it.
  const label = { baseline: 'bottom', y: -4, text: `default: ${usual.label}` };
  return labelledRule({ x }, { x: usual.at }, { strokeDash: [4, 3] }, label);
}

/** Width of a character of a label, px. */
const CHARACTER = 6.4;

/** Angle of the names along an axis: horizontal if all fit, else slanted. */
function nameLabels(labels: readonly string[], width: number) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return longest * CHARACTER <= width / Math.max(1, labels.length)
    ? { labelAngle: 0 }
    : { labelAngle: -35, labelAlign: 'right', labelBaseline: 'top' };
}
