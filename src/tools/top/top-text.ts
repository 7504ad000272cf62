import type {
  ClassStatus,
  ClusterStatus,
  GpuStatus,
  TenantStatus,
} from '../../live/observe/status/cluster-status.js';
import { formatCount, formatMs, formatPercent, formatPercentCell, formatRate } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';

/** Why there is no newer status; empty: this one is new. */
interface Feed {
  readonly url: string;
  readonly status: ClusterStatus;
  readonly problem: string;
}

/** A table of which a terminal shows as many rows as fit. */
interface Section {
  readonly heading: string;
  readonly rows: readonly string[];
  /** Noun for its rows. */
  readonly unit: string;
}

/**
 * State of a cluster as lines: rates, GPUs, classes and tenants, models. If they do not fit, each table gets its share
 * and says how many rows it omits.
 */
export function topLines({ url, status, problem }: Feed, rows = Number.POSITIVE_INFINITY): string[] {
  const { policy, host, upSeconds, ready } = status;
  const state = problem !== '' ? problem.toUpperCase() : ready ? 'ready' : 'NOT READY';
  const head = [
    `${state}: escapement on ${host}, policy ${policy}, ${url}, up ${upText(upSeconds)}`,
    ...requestLines(status),
  ];
  const sections = [gpus(status), classes(status), tenants(status), models(status)].filter(
    ({ rows: all }) => all.length > 0,
  );
  let left = rows - head.length;
  const tables = sections.flatMap(({ heading, rows: all, unit }, i) => {
    // Unused room passes to the next.
    const room = Math.max(1, Math.floor(left / (sections.length - i)) - 2);
    const shown = all.length <= room ? all : all.slice(0, room - 1);
    const more = all.length - shown.length;
    const lines = ['', heading, ...shown, ...(more === 0 ? [] : [`… ${formatCount(more)} more ${unit}`])];
    left -= lines.length;
    return lines;
  });
  return [...head, ...tables].slice(0, rows);
}

function requestLines({ requests, gpus: all }: ClusterStatus): string[] {
  const { offeredRps, goodputRps, failedRps, unanswered, totals } = requests;
  const up = all.filter((gpu) => gpu.up);
  const lanes = laneNames(all).map((lane, i) => `${lane} ${formatPercent(mean(up, (gpu) => busy(gpu, i)))}`);
  const outcomes = Object.entries(totals).map(([outcome, total]) => `${outcome} ${formatCount(total)}`);
  return [
    `in ${formatRate(offeredRps)}/s, goodput ${formatRate(goodputRps)}/s, failed ${formatRate(failedRps)}/s, ` +
      `in time ${formatPercent(attainment(requests))}, unanswered ${formatCount(unanswered)}`,
    `since the start: ${outcomes.join(', ')}`,
    `${up.length} of ${all.length} GPUs up, on average ${[...lanes, `memory ${formatPercent(mean(up, used))}`].join(', ')}`,
  ];
}

/** Cells of a row by column heading. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string | number>>;

/** `left`: columns of texts, see `alignColumns`. */
function section<Row>(
  unit: string,
  left: readonly number[],
  rows: readonly Row[],
  columns: Columns<Row>,
): Section {
  const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row)));
  const [heading = '', ...lines] = alignColumns([Object.keys(columns), ...cells], left);
  return { heading, rows: lines, unit };
}

function gpus({ gpus: all }: ClusterStatus): Section {
  const lanes = laneNames(all).map((lane, i): [string, Columns<GpuStatus>[string]] => [
    `${lane}%`,
    (gpu) => formatPercentCell(busy(gpu, i)),
  ]);
  const numbered = all.map((gpu, number) => ({ ...gpu, number }));
  // GPUs that are down come first: they must not be omitted.
  const rows = numbered.sort((a, b) => Number(a.up) - Number(b.up));
  return section('GPUs', [1, -2, -1], rows, {
    GPU: ({ number }) => number,
    KIND: ({ up, kind }) => (up ? kind : 'gone'),
    ...Object.fromEntries(lanes),
    'MEM%': (gpu) => formatPercentCell(used(gpu)),
    WARM: ({ warmModels }) => formatCount(warmModels),
    AHEAD: (gpu) => formatMs(Math.max(0, ...gpu.lanes.map(({ bookedMs }) => bookedMs))),
    WORKER: ({ worker }) => worker,
    RUNS: (gpu) => gpu.lanes.flatMap(({ running }) => (running === '' ? [] : [running])).join(', '),
  });
}

const RATES = {
  'ARR/S': ({ offeredRps }: Rates) => formatRate(offeredRps),
  'GOOD/S': ({ goodputRps }: Rates) => formatRate(goodputRps),
  'FAIL/S': ({ failedRps }: Rates) => formatRate(failedRps),
  'SLO%': (rates: Rates) => formatPercentCell(attainment(rates)),
};

const SENDER = {
  ...RATES,
  'SHARE%': ({ share }: ClassStatus | TenantStatus) => formatPercentCell(share),
  'USED%': ({ usedShare }: ClassStatus | TenantStatus) => formatPercentCell(usedShare),
  'REF/S': ({ refusedRps }: ClassStatus | TenantStatus) => formatRate(refusedRps),
};

function classes({ classes: all = [] }: ClusterStatus): Section {
  return section('classes', [0], all.toSorted(byRate), { CLASS: ({ name }) => name, ...SENDER });
}

function tenants({ tenants: all = [] }: ClusterStatus): Section {
  return section('tenants', [0], all.toSorted(byRate), {
    TENANT: ({ name }) => name,
    ...SENDER,
    '>RATE/S': ({ overRateRps }) => formatRate(overRateRps),
    '>SHR/S': ({ overShareRps }) => formatRate(overShareRps),
  });
}

function models({ models: all, otherModels }: ClusterStatus): Section {
  const most = section('models', [-1], all, {
    WARM: ({ copies }) => formatCount(copies),
    QUEUED: ({ queued }) => formatCount(queued),
    ...RATES,
    QUEUE: ({ queueMs }) => formatMs(queueMs),
    EXEC: ({ execMs }) => formatMs(execMs),
    MODEL: ({ name }) => name,
  });
  const others = otherModels === 0 ? [] : [`… ${formatCount(otherModels)} more with fewer requests`];
  return { ...most, rows: [...most.rows, ...others] };
}

interface Rates {
  readonly offeredRps: number;
  readonly goodputRps: number;
  readonly failedRps: number;
}

function byRate(a: Rates, b: Rates): number {
  return b.offeredRps - a.offeredRps;
}

/** Share of answers in time; null if there were no answers. */
function attainment({ goodputRps, failedRps }: Rates): number | null {
  const all = goodputRps + failedRps;
  return all === 0 ? null : goodputRps / all;
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
