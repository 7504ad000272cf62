import { formatMs, formatPercent, formatRate, formatSlo } from '../../text/numbers.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import { clipped, type Estimate } from '../statistics.js';
import { headline, type Recommendation } from '../study/analyze.js';
import { type Axis, type GroupPoint, type Point, ratedPoints } from '../study/points.js';
import { nameAlongX, placeAlongX, type Slice } from '../study/slices.js';
import { bestOf, goodputFinding } from '../study/verdict.js';
import { linesPanel, panelGrid } from './lines.js';
import { type ChartSpec, chart, joined, niceTop } from './theme.js';

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
  const titled = panels.map(({ spec, isEmpty }, i) => ({ title: titleOf(groups[i]!, isEmpty), spec }));
  return chart(heading, panelGrid(titled, COLUMNS));
}

function titleOf({ name, sloMs }: GroupPoint, isEmpty: boolean): string {
  const title = sloMs === null ? name : `${name}, SLO ${formatSlo(sloMs)}`;
  return isEmpty ? `${title}: none offered` : title;
}

/** A figure of each point of a slice. */
interface Measure {
  /** Name of the line if there is no series. */
  readonly name: string;
  /** Null: a gap. */
  of(point: Point): Estimate | null | undefined;
  /** Tooltip. */
  note(point: Point): string;
  readonly y: object;
  readonly bests?: ReadonlySet<Point>;
  /** A horizontal rule with its label. */
  readonly rule?: { readonly at: number; readonly text: string } | null;
}

function panel(slice: Slice, size: { readonly width: number; readonly height: number }, measure: Measure) {
  const { x, series, points } = slice;
  const { rule = null, bests } = measure;
  const below = { align: 'left', baseline: 'bottom', x: 4, dy: -11 };
  return linesPanel({
    ...{ ...size, y: measure.y },
    x: { label: x.label, title: x.title, names: x.values.map(({ label }) => label) },
    series: {
      names: series?.values.map(({ label }) => label) ?? [measure.name],
      title: series?.label ?? null,
    },
    points: points.map((point) => ({
      at: placeAlongX(slice, point),
      name: nameAlongX(slice, point),
      series: series === null ? measure.name : valueLabel(point.values[series.key] ?? ''),
      figure: measure.of(point) ?? null,
      note: `${valuesLabel(point.values)}: ${measure.note(point)}`,
      isRinged: bests?.has(point) ?? false,
    })),
    rules: [
      ...(rule === null
        ? []
        : [
            {
              ...{ at: { y: rule.at }, text: rule.text },
              ...{ rule: { strokeDash: [1, 3], strokeWidth: 1.4 }, label: below },
            },
          ]),
      ...(x.isChoice && points.every((point) => placeAlongX(slice, point) !== null) ? defaultRule(x) : []),
    ],
  });
}

/** Rule at the default, if it is within the range of the numbers. */
function defaultRule({ default: usual, values }: Axis) {
  const places = values.flatMap(({ at, isWord }) => (isWord ? [] : at));
  if (usual === null || usual.at < Math.min(...places) || usual.at > Math.max(...places)) return [];
  // Above the plot, where no line crosses it.
  const label = { baseline: 'bottom', y: -4 };
  return [{ at: { x: usual.at }, text: `default: ${usual.label}`, rule: { strokeDash: [4, 3] }, label }];
}
