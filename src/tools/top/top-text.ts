import type { ClusterStatus, GpuStatus } from '../../live/observe/status/cluster-status.js';
import { DIMENSIONS } from '../../record/dimensions.js';
import { offeredMs } from '../../record/latency.js';
import { type Breakdown, breakdownTable, liveBreakdowns } from '../../report/breakdown.js';
import {
  formatCount,
  formatMs,
  formatPercent,
  formatPercentCell,
  formatPerSecond,
} from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';

/** Longest name shown on a screen. */
const LONGEST_NAME = 24;

/** Why there is no newer status; empty: this one is new. */
interface Feed {
  readonly url: string;
  readonly status: ClusterStatus;
  readonly problem: string;
}

/** A table, cut to the rows that fit on a terminal. */
interface Section {
  readonly heading: string;
  readonly rows: readonly string[];
  /** Noun for its rows. */
  readonly unit: string;
}

/**
 * State of a cluster as lines: figures of all requests, GPUs, and requests by each dimension. If they do not fit, each table gets its share
 * and says how many rows it omits.
 */
export function topLines({ url, status, problem }: Feed, rows = Number.POSITIVE_INFINITY): string[] {
  const { policy, host, upSeconds, ready, blocked = [] } = status;
  const state = problem !== '' ? problem.toUpperCase() : ready ? 'ready' : 'NOT READY';
  const head = [
    `${state}: escapement on ${host}, policy ${policy}, ${url}, up ${upText(upSeconds)}`,
    ...requestLines(status),
    ...(blocked.length > 0 ? [`no GPU in service runs: ${blocked.join(', ')}`] : []),
  ];
  const sections = [gpus(status), ...liveBreakdowns(status.by).map((each) => requests(each, rows))].filter(
    ({ rows: all }) => all.length > 0,
  );
  let left = rows - head.length;
  const tables = sections.flatMap(({ heading, rows: all, unit }, i) => {
    // Unused room passes to the next section.
    const room = Math.max(1, Math.floor(left / (sections.length - i)) - 2);
    const shown = all.length <= room ? all : all.slice(0, room - 1);
    const more = all.length - shown.length;
    const lines = ['', heading, ...shown, ...(more === 0 ? [] : [`… ${formatCount(more)} more ${unit}`])];
    left -= lines.length;
    return lines;
  });
  return [...head, ...tables].slice(0, rows);
}

function requestLines(status: ClusterStatus): string[] {
  const { offeredRps, goodputRps, attainment, unanswered, totals, gpus: all } = status;
  const up = all.filter((gpu) => gpu.up);
  const lanes = laneNames(all).map((lane, i) => `${lane} ${formatPercent(mean(up, (gpu) => busy(gpu, i)))}`);
  const outcomes = Object.entries(totals).map(([outcome, total]) => `${outcome} ${formatCount(total)}`);
  const latencies = (['p50', 'p95', 'p99'] as const).map(
    (name) => `${name} ${formatMs(offeredMs(status, name))}`,
  );
  return [
    `offered ${formatPerSecond(offeredRps)}, in time ${formatPerSecond(goodputRps)}, ` +
      `attainment ${formatPercent(attainment)}, ${latencies.join(', ')}, unanswered ${formatCount(unanswered)}`,
    `since the start: ${outcomes.join(', ')}`,
    `${up.length} of ${all.length} GPUs up, on average ${[...lanes, `memory ${formatPercent(mean(up, used))}`].join(', ')}`,
  ];
}

/** Requests by one dimension. `screen`: cuts long names, so that the figures fit. */
function requests(breakdown: Breakdown, screenRows: number): Section {
  const { columns, rows } = breakdownTable(breakdown);
  const cut = (name: string) =>
    name.length <= LONGEST_NAME || !Number.isFinite(screenRows)
      ? name
      : `${name.slice(0, LONGEST_NAME - 1)}…`;
  const cells = [
    columns.map(({ title }) => title.toUpperCase()),
    ...rows.map(([name, ...figures]) => [cut(name?.text ?? ''), ...figures.map(({ text }) => text)]),
  ];
  const [heading = '', ...lines] = alignColumns(cells, [0]);
  return { heading, rows: lines, unit: DIMENSIONS[breakdown.dimension].plural };
}

function gpus({ gpus: all }: ClusterStatus): Section {
  const lanes = laneNames(all);
  const numbered = all.map((gpu, number) => ({ ...gpu, number }));
  // GPUs that are down come first: they must not be omitted.
  const rows = numbered.sort((a, b) => Number(a.up) - Number(b.up));
  const [heading = '', ...lines] = alignColumns(
    [
      [
        ...['GPU', 'KIND', ...lanes.map((lane) => `${lane}%`)],
        ...['MEM%', 'WARM', 'AHEAD', 'WORKER', 'RUNS'],
      ],
      ...rows.map((gpu) => [
        ...[gpu.number, gpu.up ? gpu.kind : 'gone'],
        ...lanes.map((_, lane) => formatPercentCell(busy(gpu, lane))),
        ...[formatPercentCell(used(gpu)), formatCount(gpu.warmModels)],
        ...[formatMs(Math.max(0, ...gpu.lanes.map(({ bookedMs }) => bookedMs))), gpu.worker],
        gpu.lanes.flatMap(({ running }) => (running === '' ? [] : [running])).join(', '),
      ]),
    ],
    [1, -2, -1],
  );
  return { heading, rows: lines, unit: 'GPUs' };
}

function laneNames([first]: readonly GpuStatus[]): string[] {
  return first?.lanes.map(({ lane }) => lane) ?? [];
}

function busy({ lanes }: GpuStatus, lane: number): number {
  return lanes[lane]?.busy ?? 0;
}

function used({ pages, freePages }: GpuStatus): number {
  return 1 - freePages / Math.max(1, pages);
}

function mean(of: readonly GpuStatus[], share: (gpu: GpuStatus) => number): number | null {
  return of.length === 0 ? null : of.reduce((sum, gpu) => sum + share(gpu), 0) / of.length;
}

/** Formats `3:07`, `1:03:07`, `2 d 1:03:07`. */
function upText(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value % 60).padStart(2, '0');
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor((whole % 86_400) / 3600);
  const minutes = Math.floor(whole / 60);
  const clock =
    days === 0 && hours === 0 ? `${minutes}:${two(whole)}` : `${hours}:${two(minutes)}:${two(whole)}`;
  return days === 0 ? clock : `${days} d ${clock}`;
}
