import type { DrawnRun, LatencyCdf, SweepResults } from '../../record/results.js';
import { present } from '../lists.js';
import { certaintyOf, type PolicyComparison } from '../policies/compare.js';
import { valuesLabel } from '../quantity.js';
import { headline, type Recommendation, recommend } from '../study/analyze.js';
import { type Point, ratedPoints } from '../study/points.js';
import { type Slice, sliceSweep } from '../study/slices.js';
import { choiceLabel, finding } from '../study/verdict.js';
import { gpuTimeline } from './gpu-timeline.js';
import { type LatencyLine, latencyCdf, THIS_RUN } from './latency-cdf.js';
import { overTime, runsOverTime } from './over-time.js';
import { policyLines } from './policy-lines.js';
import { goodputLines, groupLines } from './sweep-lines.js';
import { type ChartSpec, joined } from './theme.js';

/** A chart with the base name of its files. */
export interface NamedChart {
  readonly name: string;
  readonly spec: ChartSpec;
}

/** Largest number of panels, one per combination of further keys; tables show all. */
const MAX_SLICES = 6;
/** More lines per run would be unreadable. */
const MAX_GROUP_LINES = 4;

/** Charts of a sweep; charts of a single run show the first seed of the recommendation with the largest gain. */
export function sweepCharts(results: SweepResults): NamedChart[] {
  const recommendations = recommend(results);
  const slices = drawnFirst(results, recommendations);
  const planes = slices
    .slice(0, MAX_SLICES)
    .flatMap((slice) => planeCharts(slice, recommendations, slices.length > 1));
  return [...planes, ...exampleCharts(recommendations)];
}

/** Panels of a sweep without charts, in words; empty if all are drawn. */
export function chartsLeftOut(results: SweepResults): string {
  const { length } = sliceSweep(results);
  if (length <= MAX_SLICES) return '';
  return `${MAX_SLICES} of ${length} panels drawn, those with a best choice first; the table of all combinations has the others.`;
}

/** Sorts panels with a best choice before the others. */
function drawnFirst(results: SweepResults, recommendations: readonly Recommendation[]): Slice[] {
  const bests = ({ points }: Slice) => recommendations.filter(({ best }) => points.includes(best)).length;
  return sliceSweep(results)
    .map((slice) => ({ slice, bests: bests(slice) }))
    .sort((a, b) => b.bests - a.bests)
    .map(({ slice }) => slice);
}

/** Charts of one run. */
export function runCharts(run: DrawnRun): NamedChart[] {
  return [
    ...latencyChart(linesOf('', run, worstGroups([run])), run.sloMs, [runLabel(run), groupsLeftOut([run])]),
    ...timeCharts(run, [runLabel(run)]),
  ];
}

function planeCharts(
  slice: Slice,
  recommendations: readonly Recommendation[],
  several: boolean,
): NamedChart[] {
  const { points } = slice;
  const here = recommendations.filter(({ best }) => points.includes(best));
  const suffix = several ? `-${fileName(Object.values(slice.fixed).join('-'))}` : '';
  const grouped = points.some(({ groups }) => groups.length > 0);
  return present(
    grouped && { name: `groups${suffix}`, spec: groupLines(slice, finding(headline(here))) },
    ratedPoints(points).length > 0 && { name: `goodput${suffix}`, spec: goodputLines(slice, here) },
  );
}

/** Latency of the default and of the best, and the best over time. */
function exampleCharts(recommendations: readonly Recommendation[]): NamedChart[] {
  const shown = headline(recommendations);
  if (shown === null) return [];
  const best = firstRun(shown.best);
  const nameOf = ({ choice }: Point) => choiceLabel(choice);
  const drawn = worstGroups([...comparedWith(shown).map(firstRun), best]);
  const lines = [
    ...comparedWith(shown).flatMap((point) => {
      const name = point === shown.default ? `default: ${nameOf(point)}` : nameOf(point);
      return linesOf(name, firstRun(point), drawn);
    }),
    ...linesOf(`best: ${choiceLabel(shown.choice)}`, best, drawn),
  ];
  const conditions = valuesLabel(shown.conditions);
  const { 'policy.kind': _, ...others } = shown.best.values;
  return [
    ...latencyChart(lines, best.sloMs, [conditions, `seed ${best.summary.seed}`, groupsLeftOut([best])]),
    ...timeCharts(best, [valuesLabel(others), runLabel(best)]),
  ];
}

/** Run that the best is compared with: the default, or, for groups, the worst choice if the default is the best. */
function comparedWith({ best, default: usual, poorest }: Recommendation): Point[] {
  if (usual !== null && usual !== best) return [usual];
  return best.groups.length > 0 && poorest !== best ? [poorest] : [];
}

/** Label of a run where a chart shows one of several. */
function runLabel({ summary: { policy, seed } }: DrawnRun): string {
  return policy === undefined ? `seed ${seed}` : `policy ${policy}, seed ${seed}`;
}

function latencyChart(
  lines: readonly LatencyLine[],
  sloMs: number | null,
  notes: readonly string[],
): NamedChart[] {
  if (lines.every(({ cdf }) => cdf.ms.length === 0)) return [];
  return [{ name: 'latency-cdf', spec: latencyCdf(lines, sloMs, joined(...notes)) }];
}

/** Charts that show several runs in one picture. */
export function comparisonCharts(
  runs: readonly { readonly name: string; readonly run: DrawnRun }[],
): NamedChart[] {
  const slos = new Set(runs.map(({ run }) => run.sloMs));
  const drawn = worstGroups(runs.map(({ run }) => run));
  const lines = runs.flatMap(({ name, run }) => linesOf(name, run, drawn));
  const spanned = runs.filter(({ run }) => hasSpan(run));
  return [
    ...latencyChart(lines, slos.size === 1 ? runs[0]!.run.sloMs : null, [
      groupsLeftOut(runs.map(({ run }) => run)),
    ]),
    ...(spanned.length === 0 ? [] : [{ name: 'goodput-over-time', spec: runsOverTime(spanned) }]),
  ];
}

/** Charts of a comparison of policies. */
export function policyCharts(comparison: PolicyComparison): NamedChart[] {
  const note = joined(certaintyOf(comparison), 'the axis is stretched near 100');
  return [{ name: 'policies-goodput', spec: policyLines(comparison, note) }];
}

/** False if all requests arrived at one instant, so that there are no rates. */
function hasSpan({ windows }: DrawnRun): boolean {
  return windows[0].offeredRps !== null;
}

function timeCharts(run: DrawnRun, notes: readonly string[]): NamedChart[] {
  const note = joined(...notes);
  return present(
    hasSpan(run) && { name: 'over-time', spec: overTime(run, note) },
    run.timeline.length > 0 && {
      name: 'gpu-timeline',
      spec: gpuTimeline(run.timeline, { worst: run.worst, note }),
    },
  );
}

/** Note on groups that are not drawn; empty if all are. */
function groupsLeftOut(runs: readonly DrawnRun[]): string {
  const most = Math.max(...runs.map(({ summary }) => summary.by.group?.length ?? 0));
  return most > MAX_GROUP_LINES ? `the worst ${MAX_GROUP_LINES} of ${most} groups` : '';
}

/** Groups to draw: those with the smallest share in time in any of the runs. */
function worstGroups(runs: readonly DrawnRun[]): ReadonlySet<string> {
  const least = new Map<string, number>();
  for (const { key, attainment } of runs.flatMap(({ summary }) => summary.by.group ?? []))
    least.set(key, Math.min(least.get(key) ?? 1, attainment ?? 1));
  const sorted = [...least].sort(([, a], [, b]) => a - b).map(([name]) => name);
  return new Set(sorted.slice(0, MAX_GROUP_LINES));
}

/** One line for the run, or one per group, because the latency of all groups together describes none of them. */
function linesOf(
  name: string,
  { latencyCdf: cdf, summary }: DrawnRun,
  shown: ReadonlySet<string>,
): LatencyLine[] {
  const line = (of: string, drawn: LatencyCdf, { attainment }: Pick<DrawnRun['summary'], 'attainment'>) => ({
    name: of,
    cdf: drawn,
    inTime: attainment,
  });
  const { group: groups } = summary.by;
  if (groups === undefined) return [line(name || THIS_RUN, cdf, summary)];
  return groups
    .filter(({ key }) => shown.has(key))
    .map((group) => {
      const of = name === '' ? group.key : `${name}, ${group.key}`;
      return line(of, group.latencyCdf, group);
    });
}

function firstRun(point: Point): DrawnRun {
  return (point.cells[0] as Point['cells'][number]).result;
}

function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9.-]+/g, '_');
}
