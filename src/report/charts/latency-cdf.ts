import type { LatencyCdf, LatencyMs } from '../../record/results.js';
import { formatMs, formatPercent, formatSlo, significant } from '../../text/numbers.js';
import { endLabels, seriesEncoding } from './end-labels.js';
import { type ChartSpec, chart, joined, MUTED, niceTop } from './theme.js';

const WIDTH = 540;
const HEIGHT = 320;
/** Percentiles with a tick, as 1 / (1 − p). */
const TICKS = [1, 2, 10, 100, 1000, 10_000, 100_000];
const LAST = 10_000;
/** Ticks of a logarithmic axis: 0.1, 0.2, 0.5, 1 … 500,000 ms. */
const ROUND_MS = [-1, 0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

/** Name of the only line of a run. */
export const THIS_RUN = 'this run';

export interface LatencyLine {
  readonly name: string;
  readonly cdf: LatencyCdf;
  /** Share of the offered requests that were answered in time: the end of the line; null: nothing was offered. */
  readonly inTime: number | null;
}

/**
 * Latency by percentile of all offered requests on an axis that gives each further nine the same room (x = 1 / (1 − p),
 * logarithmic), so that the tail is as wide as the rest. A line ends where requests were not answered in time. Lines
 * without a point, whose users fared worst, are only in the subtitle.
 */
export function latencyCdf(lines: readonly LatencyLine[], sloMs: number | null, note = ''): ChartSpec {
  const names = lines.map((line) => line.name);
  const rows = lines.flatMap((line) => rowsOf(line));
  const highest = Math.max(sloMs ?? 0, ...rows.map((row) => row.ms));
  const lowest = Math.min(...rows.map((row) => row.ms));
  const logarithmic = lowest > 0 && highest / Math.max(lowest, 0.1) > 60;
  const top = logarithmic ? highest * 1.3 : niceTop(highest * 1.06);
  const domain = [logarithmic ? Math.max(0.1, lowest * 0.8) : 0, top];
  const y = {
    field: 'ms',
    type: 'quantitative',
    title: 'latency (ms)',
    scale: { type: logarithmic ? 'log' : 'linear', domain, nice: false },
    axis: { format: ',~f', tickCount: 7, ...(logarithmic ? { values: ROUND_MS } : {}) },
  } as const;
  const x = {
    field: 'x',
    type: 'quantitative',
    title: 'percentile of all offered requests',
    scale: { type: 'log', domain: [1, LAST], nice: false },
    axis: {
      values: TICKS.filter((tick) => tick <= LAST),
      labelExpr: "datum.value == 1 ? '0' : datum.value == 2 ? '50' : format(100 - 100 / datum.value, '~f')",
    },
  } as const;
  const style = seriesEncoding('name', names);
  const heightAt = (ms: number) => heightOf(ms, domain, logarithmic);
  const ends = names.map((name) => {
    const last = rows.findLast((row) => row.name === name);
    return last === undefined ? null : heightAt(last.ms);
  });
  const hasNoLine = lines.some(({ cdf, inTime }) => inTime !== null && cdf.ms.length === 0);
  const heading = {
    title: 'Latency by percentile',
    subtitle: joined(...lines.map(tailOf), hasNoLine ? 'no line where p50 is never' : '', note),
    width: WIDTH + (names.length > 1 ? 190 : 60),
  };
  return chart(heading, {
    width: WIDTH,
    height: HEIGHT,
    layer: [
      ...(sloMs === null ? [] : sloRule(sloMs, y)),
      {
        data: { values: rows },
        mark: { type: 'line', strokeWidth: 2.2, clip: true },
        encoding: { x, y, color: style('color'), strokeDash: style('dash') },
      },
      {
        data: { values: rows.filter((row) => TICKS.includes(row.x)) },
        mark: { type: 'point', filled: true, size: 60, opacity: 1 },
        encoding: { x, y, color: style('color'), shape: style('shape'), tooltip: { field: 'note' } },
      },
      ...(names.length > 1 ? endLabels({ names, ends, title: '', width: WIDTH, height: HEIGHT }) : []),
    ],
  });
}

/** Part of the curve given by headline latencies. */
export function percentilesOf({ p50, p90, p95, p99, p999, p9999 }: LatencyMs): LatencyCdf {
  const all = [50, 90, 95, 99, 99.9, 99.99];
  const ms = [p50, p90, p95, p99, p999, p9999].filter((latency) => latency !== null);
  return { percentile: all.slice(0, ms.length), ms };
}

/** Height of a latency as a share of the plot. */
function heightOf(ms: number, [low = 0, high = 1]: readonly number[], logarithmic: boolean): number {
  return logarithmic ? Math.log(ms / low) / Math.log(high / low) : (ms - low) / (high - low);
}

/** Rule with its label above it, where no line can run: later answers are not in time. */
function sloRule(sloMs: number, y: object) {
  const data = { values: [{ ms: sloMs }] };
  const label = { type: 'text', align: 'left', baseline: 'bottom', x: 5, dy: -4, color: MUTED };
  return [
    { data, mark: { type: 'rule', strokeDash: [4, 3], color: MUTED, strokeWidth: 1.4 }, encoding: { y } },
    { data, mark: { ...label, text: `SLO ${formatSlo(sloMs)}` }, encoding: { y } },
  ];
}

function rowsOf({ name, cdf }: LatencyLine) {
  return cdf.percentile.flatMap((percentile, i) => {
    const x = significant(100 / (100 - percentile), 9);
    const ms = cdf.ms[i] ?? 0;
    return x > LAST ? [] : [{ name, x, ms, note: `${name}: p${percentile} ${formatMs(ms)}` }];
  });
}

function tailOf({ name, cdf, inTime }: LatencyLine): string {
  const of = name === THIS_RUN ? '' : `${name}: `;
  if (inTime === null) return `${of}nothing offered`;
  const p99 = cdf.ms[cdf.percentile.indexOf(99)] ?? Number.POSITIVE_INFINITY;
  const tail = cdf.ms.length === 0 ? 'p50 never' : `p99 ${formatMs(p99)}`;
  return `${of}${tail}, ${formatPercent(inTime)} in time`;
}
