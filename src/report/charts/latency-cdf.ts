import type { LatencyCdf } from '../../record/results.js';
import { formatMs, formatPercent, formatSlo, significant } from '../../text/numbers.js';
import {
  type ChartSpec,
  chart,
  joined,
  labelledRule,
  niceTop,
  seriesEncoding,
  seriesStyles,
} from './theme.js';

const WIDTH = 540;
const HEIGHT = 320;
/** Percentiles with a tick, as 1 / (1 − p). */
const TICKS = [1, 2, 10, 100, 1000, 10_000, 100_000];
const LAST = 10_000;
/** Ticks of a logarithmic axis: 0.1, 0.2, 0.5, 1 … 500,000 ms. */
const ROUND_MS = [-1, 0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

/** Name of a run's line if it has only one. */
export const THIS_RUN = 'this run';

export interface LatencyLine {
  readonly name: string;
  readonly cdf: LatencyCdf;
  /** Share of the offered requests answered in time, where the line ends; null: nothing was offered. */
  readonly inTime: number | null;
}

/**
 * Latency by percentile of all offered requests, on a logarithmic axis of 1 / (1 − p), which gives each nine the same
 * width. A line ends at the share answered in time, because a failed request has no latency.
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
  // The legend omits lines that are not drawn.
  const isDrawn = (_: unknown, rank: number) => lines[rank]!.cdf.ms.length > 0;
  const style = seriesEncoding('name', names.filter(isDrawn), seriesStyles(names).filter(isDrawn));
  const ends = lines.some(({ inTime }) => inTime !== null && inTime < 1);
  const heading = {
    title: 'Latency by percentile',
    subtitle: joined(...lines.map(tailOf), ends ? 'a line ends where answers were not in time' : '', note),
    width: WIDTH + 60,
    fluid: true,
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
    ],
  });
}

/** Rule with its label above it, where no line can be: later answers are not in time. */
function sloRule(sloMs: number, y: object) {
  const label = { align: 'left', baseline: 'bottom', x: 5, dy: -4, text: `SLO ${formatSlo(sloMs)}` };
  return labelledRule({ y }, { ms: sloMs }, { strokeDash: [4, 3], strokeWidth: 1.4 }, label);
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
  return `${of}p99 ${formatMs(p99)}, ${formatPercent(inTime)} in time`;
}
