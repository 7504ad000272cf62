import type { CellResult, LatencyCdf, RequestCounts, SweepResults } from '../metrics/results.js';
import { headline, type Recommendation, recommend } from './analyze.js';
import { defaultVsBest } from './charts/default-vs-best.js';
import { choiceLabel, choiceOf, finding } from './charts/finding.js';
import { goodputBars } from './charts/goodput-bars.js';
import { goodputLines } from './charts/goodput-lines.js';
import { goodputOverTime } from './charts/goodput-over-time.js';
import { gpuTimeline } from './charts/gpu-timeline.js';
import { groupAttainment } from './charts/group-attainment.js';
import { groupBars } from './charts/group-bars.js';
import { heatMap } from './charts/heat-map.js';
import { type LatencyLine, latencyCdf, percentilesOf } from './charts/latency-cdf.js';
import { overTime } from './charts/over-time.js';
import { policyLines } from './charts/policy-lines.js';
import { policyRanks } from './charts/policy-ranks.js';
import { policySpread } from './charts/policy-spread.js';
import type { ChartSpec } from './charts/theme.js';
import { tunedOverTime } from './charts/tuned-over-time.js';
import type { Point } from './points.js';
import type { PolicyComparison } from './policies/compare.js';
import { shortFinding } from './policies/finding.js';
import { valuesLabel } from './quantity.js';
import { type Slice, sliceSweep } from './slices.js';

/** A chart with the name of its files. */
export interface NamedChart {
  readonly name: string;
  readonly spec: ChartSpec;
}

/** Charts repeat for each combination of further keys, up to this many; tables show all. */
const MAX_SLICES = 6;
/** More lines of one run than this are a tangle. */
const MAX_GROUP_LINES = 4;

/** The charts of a sweep; those of one run show the recommendation that gains most, at its first seed. */
export function sweepCharts(results: SweepResults): NamedChart[] {
  const recommendations = recommend(results);
  const slices = sliceSweep(results);
  const planes = slices
    .slice(0, MAX_SLICES)
    .flatMap((slice) => planeCharts(slice, recommendations, slices.length > 1));
  // Groups are compared in a chart of their own: without a better choice this one would say nothing.
  const compared = recommendations.some(
    ({ best, default: usual }) => best.groups.length === 0 || best !== usual,
  );
  const comparison = compared ? [{ name: 'default-vs-best', spec: defaultVsBest(recommendations) }] : [];
  return [...planes.slice(0, 1), ...comparison, ...planes.slice(1), ...exampleCharts(recommendations)];
}

/** The charts of one run. */
export function runCharts(run: CellResult): NamedChart[] {
  const groups = run.groups.length === 0 ? [] : [{ name: 'groups', spec: groupBars(run.groups) }];
  return [...groups, ...latencyChart(linesOf('', run), run.sloMs, ''), ...timeCharts(run, '')];
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
  const nameOf = (point: Point) => choiceLabel(choiceOf(point, shown));
  const lines = [
    ...comparedWith(shown).flatMap((point) => {
      const name = point === shown.default ? `default: ${nameOf(point)}` : nameOf(point);
      return linesOf(name, firstRun(point));
    }),
    ...linesOf(`best: ${choiceLabel(shown.choice)}`, best),
  ];
  const conditions = valuesLabel(shown.conditions);
  return [
    ...latencyChart(lines, best.sloMs, conditions),
    ...timeCharts(best, valuesLabel(shown.best.values)),
  ];
}

/** What stands beside the best: the default, or of groups the poorest choice if the default is the best. */
function comparedWith({ best, default: usual, poorest }: Recommendation): Point[] {
  if (usual !== null && usual !== best) return [usual];
  return best.groups.length > 0 && poorest !== best ? [poorest] : [];
}

function latencyChart(lines: readonly LatencyLine[], sloMs: number | null, note: string): NamedChart[] {
  const drawn = lines.filter((line) => line.cdf.ms.length > 0);
  return drawn.length === 0 ? [] : [{ name: 'latency-cdf', spec: latencyCdf(drawn, sloMs, note) }];
}

/** The charts that show several runs in one picture. */
export function comparisonCharts(
  runs: readonly { readonly name: string; readonly run: CellResult }[],
): NamedChart[] {
  const slos = new Set(runs.map(({ run }) => run.sloMs));
  const lines = runs.flatMap(({ name, run }) => linesOf(name, run));
  const overTime = runs.filter(({ run }) => run.series.offeredRps.length > 0);
  return [
    ...latencyChart(lines, slos.size === 1 ? runs[0]!.run.sloMs : null, ''),
    ...(overTime.length === 0 ? [] : [{ name: 'goodput-over-time', spec: goodputOverTime(overTime) }]),
  ];
}

/** The charts of a comparison of policies. */
export function policyCharts(comparison: PolicyComparison): NamedChart[] {
  const finding = shortFinding(comparison);
  const stretched = 'the axis is stretched towards 100';
  const ranks = 'rank 1: no policy is better beyond doubt · several may share a rank';
  return [
    {
      name: 'policies-spread',
      spec: policySpread(
        comparison,
        `${finding} · a tick for each cell, diamond and figure: mean · ${stretched}`,
      ),
    },
    { name: 'policies-goodput', spec: policyLines(comparison, `Whiskers: 95 % confidence · ${stretched}`) },
    { name: 'policies-rank', spec: policyRanks(comparison, ranks) },
  ];
}

function timeCharts(run: CellResult, note: string): NamedChart[] {
  return [
    ...(run.series.offeredRps.length === 0 ? [] : [{ name: 'over-time', spec: overTime(run, note) }]),
    ...(run.tuned ?? []).map((tuned) => ({
      name: `tuned-${fileName(tuned.name)}`,
      spec: tunedOverTime(tuned, run.series, note),
    })),
    ...(run.timeline.length === 0 ? [] : [{ name: 'gpu-timeline', spec: gpuTimeline(run.timeline, note) }]),
  ];
}

/** A line for the run, or one for each group: mixed, their latencies tell of none. */
function linesOf(name: string, { latencyCdf: cdf, summary, groups }: CellResult): LatencyLine[] {
  const line = (of: string, drawn: LatencyCdf, { ok, late, offered }: RequestCounts) => {
    return { name: of, cdf: drawn, executed: ok + late, offered };
  };
  if (groups.length === 0) return [line(name || 'this run', cdf, summary.requests)];
  return groups.slice(0, MAX_GROUP_LINES).map((group) => {
    const of = name === '' ? group.name : `${name}, ${group.name}`;
    return line(of, percentilesOf(group.latencyMs), group.requests);
  });
}

function firstRun(point: Point): CellResult {
  return (point.cells[0] as Point['cells'][number]).result;
}

function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9.-]+/g, '_');
}
