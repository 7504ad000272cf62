import type { FinishedCell, GroupSummary, SweepResults } from '../metrics/results.js';
import type { Axis } from './axes.js';
import { type Estimate, estimate } from './statistics.js';

/** All finished repetitions of one combination of values. */
export interface Point {
  readonly values: Readonly<Record<string, string>>;
  readonly goodputRps: Estimate;
  readonly offeredRps: Estimate;
  /** Share of offered requests that were answered within their objective. */
  readonly sloAttainment: Estimate;
  /** null where a repetition executed nothing. */
  readonly p50Ms: Estimate | null;
  readonly p99Ms: Estimate | null;
  /** One a workload section where there are several, else empty. */
  readonly groups: readonly GroupPoint[];
  /** In the order of the seeds. */
  readonly cells: readonly FinishedCell[];
}

/** The same of one group of users. */
export type GroupPoint = Pick<GroupSummary, 'name' | 'sloMs'> &
  Pick<Point, 'goodputRps' | 'sloAttainment' | 'p99Ms'>;

/** Mean over seeds for each combination of values, in the order of the grid. Failed cells are left out. */
export function aggregate(results: SweepResults): Point[] {
  const points = new Map<string, FinishedCell[]>();
  for (const cell of results.cells) {
    if (cell.status !== 'done') continue;
    const name = JSON.stringify(results.vary.map(({ key }) => cell.values[key]));
    const cells = points.get(name);
    if (cells === undefined) points.set(name, [cell]);
    else cells.push(cell);
  }
  return [...points.values()].map(pointOf);
}

/** The group of which the smallest share was answered in time; null where there are no groups. */
export function worstGroup({ groups }: Pick<Point, 'groups'>): GroupPoint | null {
  const [first, ...others] = groups;
  return others.reduce<GroupPoint | null>(
    (worst, group) => (worst !== null && group.sloAttainment.mean < worst.sloAttainment.mean ? group : worst),
    first ?? null,
  );
}

/**
 * What a choice is judged by: goodput; where the workload has groups, the attainment of the one that fares
 * worst, because the goodput of one group does not make up for the missed objectives of another.
 */
export function scoreOf(point: Point): number {
  return worstGroup(point)?.sloAttainment.mean ?? point.goodputRps.mean;
}

/** Points in ascending order of the given axes, the first deciding first. */
export function sortPoints(points: readonly Point[], axes: readonly Axis[]): Point[] {
  const ranks = axes.map((axis) => new Map(axis.values.map(({ text }, rank) => [text, rank])));
  const rank = (point: Point, i: number): number =>
    ranks[i]?.get(point.values[axes[i]?.key ?? ''] ?? '') ?? -1;
  return [...points].sort((a, b) => {
    for (let i = 0; i < axes.length; i++) {
      const order = rank(a, i) - rank(b, i);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function pointOf(cells: readonly FinishedCell[]): Point {
  const summaries = cells.map((cell) => cell.result.summary);
  return {
    values: (cells[0] as FinishedCell).values,
    goodputRps: estimate(summaries.map((summary) => summary.goodputRps)),
    offeredRps: estimate(summaries.map((summary) => summary.offeredRps)),
    sloAttainment: estimate(summaries.map((summary) => summary.sloAttainment)),
    p50Ms: estimateAll(summaries.map((summary) => summary.latencyMs.p50)),
    p99Ms: estimateAll(summaries.map((summary) => summary.latencyMs.p99)),
    groups: groupsOf(cells),
    cells,
  };
}

function groupsOf(cells: readonly FinishedCell[]): GroupPoint[] {
  const [first, ...others] = cells.map((cell) => cell.result.groups);
  return (first ?? []).map((group, i) =>
    groupPoint(group, ...others.map((groups) => groups[i] as GroupSummary)),
  );
}

/** A group over its repetitions. */
export function groupPoint(...repetitions: readonly [GroupSummary, ...GroupSummary[]]): GroupPoint {
  const [{ name, sloMs }] = repetitions;
  return {
    name,
    sloMs,
    goodputRps: estimate(repetitions.map(({ goodputRps }) => goodputRps)),
    sloAttainment: estimate(repetitions.map(({ sloAttainment }) => sloAttainment)),
    p99Ms: estimateAll(repetitions.map(({ latencyMs }) => latencyMs.p99)),
  };
}

function estimateAll(values: readonly (number | null)[]): Estimate | null {
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? estimate(known) : null;
}
