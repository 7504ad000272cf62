import type { CellResult, SweepResults } from '../metrics/results.js';
import { headline, type Recommendation, recommend } from './analyze.js';
import { defaultVsBest } from './charts/default-vs-best.js';
import { choiceLabel, choiceOf, finding } from './charts/finding.js';
import { goodputBars } from './charts/goodput-bars.js';
import { goodputLines } from './charts/goodput-lines.js';
import { gpuTimeline } from './charts/gpu-timeline.js';
import { groupAttainment } from './charts/group-attainment.js';
import { groupBars } from './charts/group-bars.js';
import { heatMap } from './charts/heat-map.js';
import { type LatencyLine, latencyCdf } from './charts/latency-cdf.js';
import { overTime } from './charts/over-time.js';
import type { ChartSpec } from './charts/theme.js';
import type { Point } from './points.js';
import { valuesLabel } from './quantity.js';
import { type Slice, sliceSweep } from './slices.js';

/** A chart with the name of its files. */
export interface NamedChart {
  readonly name: string;
  readonly spec: ChartSpec;
}

/** Charts repeat for each combination of further keys, up to this many; tables show all. */
const MAX_SLICES = 6;

/** The charts of a sweep; those of one run show the recommendation that gains most, at its first seed. */
export function sweepCharts(results: SweepResults): NamedChart[] {
  const recommendations = recommend(results);
  const slices = sliceSweep(results);
  const planes = slices
    .slice(0, MAX_SLICES)
    .flatMap((slice) => planeCharts(slice, recommendations, slices.length > 1));
  const comparison =
    recommendations.length === 0 ? [] : [{ name: 'default-vs-best', spec: defaultVsBest(recommendations) }];
  return [...planes.slice(0, 1), ...comparison, ...planes.slice(1), ...exampleCharts(recommendations)];
}

/** The charts of one run. */
export function runCharts(run: CellResult): NamedChart[] {
  const groups = run.groups.length === 0 ? [] : [{ name: 'groups', spec: groupBars(run.groups) }];
  return [...groups, ...latencyChart([lineOf('this run', run)], run.sloMs), ...timeCharts(run, '')];
}

function planeCharts(
  slice: Slice,
  recommendations: readonly Recommendation[],
  several: boolean,
): NamedChart[] {
  const inside = (point: Point) =>
    Object.entries(slice.fixed).every(([key, value]) => point.values[key] === value);
  const here = recommendations.filter(({ best }) => inside(best));
  const suffix = several ? `-${fileName(Object.values(slice.fixed).join('-'))}` : '';
  const draw = slice.x.kind === 'number' ? goodputLines : goodputBars;
  const grouped = slice.points.some(({ groups }) => groups.length > 0);
  return [
    ...(grouped ? [{ name: `groups${suffix}`, spec: groupAttainment(slice, finding(headline(here))) }] : []),
    { name: `goodput${suffix}`, spec: draw(slice, here) },
    ...(slice.series === null ? [] : [{ name: `heat-map${suffix}`, spec: heatMap(slice, here) }]),
  ];
}

/** Latency of the default beside the best, and the best's course over time. */
function exampleCharts(recommendations: readonly Recommendation[]): NamedChart[] {
  const shown = headline(recommendations);
  if (shown === null) return [];
  const best = firstRun(shown.best);
  const usual = shown.default === null || shown.default === shown.best ? null : shown.default;
  const lines = [
    ...(usual === null ? [] : [lineOf(`default: ${choiceLabel(choiceOf(usual, shown))}`, firstRun(usual))]),
    lineOf(`best: ${choiceLabel(shown.choice)}`, best),
  ];
  return [...latencyChart(lines, best.sloMs), ...timeCharts(best, valuesLabel(shown.best.values))];
}

function latencyChart(lines: readonly LatencyLine[], sloMs: number | null): NamedChart[] {
  const drawn = lines.filter((line) => line.cdf.ms.length > 0);
  return drawn.length === 0 ? [] : [{ name: 'latency-cdf', spec: latencyCdf(drawn, sloMs) }];
}

function timeCharts(run: CellResult, note: string): NamedChart[] {
  return [
    ...(run.series.offeredRps.length === 0 ? [] : [{ name: 'over-time', spec: overTime(run.series, note) }]),
    ...(run.timeline.length === 0 ? [] : [{ name: 'gpu-timeline', spec: gpuTimeline(run.timeline, note) }]),
  ];
}

function lineOf(name: string, { latencyCdf: cdf, summary: { requests } }: CellResult): LatencyLine {
  return { name, cdf, executed: requests.ok + requests.late, offered: requests.offered };
}

function firstRun(point: Point): CellResult {
  return (point.cells[0] as Point['cells'][number]).result;
}

function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9.-]+/g, '_');
}
