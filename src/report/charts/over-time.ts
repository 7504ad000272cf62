import type { CellResult } from '../../metrics/results.js';
import { formatPercent, formatRate } from '../format.js';
import { ALERT, type ChartSpec, chart, MUTED, STRONG, ZOOM_TIME } from './theme.js';

const WIDTH = 600;
const HEIGHT = 300;
/** More bins than this are averaged: finer than a pixel shows nothing. */
const MAX_BINS = 600;

const LINES = [
  { field: 'offeredRps', name: 'offered', color: MUTED, dash: [2, 2], width: 1.5 },
  { field: 'goodputRps', name: 'goodput', color: STRONG, dash: [1, 0], width: 2.2 },
  { field: 'failedRps', name: 'failed or late', color: ALERT, dash: [7, 3], width: 1.6 },
] as const;

/** Offered load, goodput and failures by time, in requests per second. */
export function overTime({ series, summary }: Pick<CellResult, 'series' | 'summary'>, note = ''): ChartSpec {
  const bin = Math.max(1, Math.ceil(series.offeredRps.length / MAX_BINS));
  const binSeconds = series.binSeconds * bin;
  const { beginSeconds } = series;
  const endSeconds = beginSeconds + series.offeredRps.length * series.binSeconds;
  const time = timeUnit(endSeconds);
  const rows = LINES.flatMap(({ field, name }) =>
    averaged(series[field], bin).map((rps, i) => ({
      name,
      rps,
      at: Number(((beginSeconds + (i + 0.5) * binSeconds) / time.seconds).toPrecision(9)),
    })),
  );
  const names = LINES.map(({ name }) => name);
  const legend = { title: null, orient: 'top', symbolType: 'stroke', symbolSize: 400 } as const;
  const style = (range: readonly unknown[]) => {
    return { field: 'name', type: 'ordinal', sort: names, legend, scale: { domain: names, range } };
  };
  return chart(
    {
      title: 'Requests and goodput over time',
      subtitle: [
        describe(summary, Math.max(0, ...series.offeredRps)),
        `bins of ${formatSeconds(binSeconds)}`,
        ...(beginSeconds > 0 ? [`without the warm-up of ${formatSeconds(beginSeconds)}`] : []),
        ...(note === '' ? [] : [note]),
      ].join(' · '),
      width: WIDTH + 80,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      data: { values: rows },
      params: [ZOOM_TIME],
      mark: { type: 'line', clip: true },
      encoding: {
        x: {
          field: 'at',
          type: 'quantitative',
          title: `time since the start (${time.name})`,
          scale: {
            nice: false,
            zero: false,
            domain: [beginSeconds / time.seconds, endSeconds / time.seconds],
          },
          axis: { grid: false, format: ',~f' },
        },
        y: { field: 'rps', type: 'quantitative', title: 'requests/s', axis: { format: ',~f', tickCount: 7 } },
        color: style(LINES.map(({ color }) => color)),
        strokeDash: style(LINES.map(({ dash }) => dash)),
        strokeWidth: style(LINES.map(({ width }) => width)),
      },
    },
  );
}

function averaged(values: readonly number[], bin: number): number[] {
  const result: number[] = [];
  for (let i = 0; i < values.length; i += bin) {
    const part = values.slice(i, i + bin);
    result.push(part.reduce((sum, value) => sum + value, 0) / part.length);
  }
  return result;
}

function describe({ goodputRps, offeredRps, sloAttainment }: CellResult['summary'], peakRps: number): string {
  const rates = `${formatRate(goodputRps)} of ${formatRate(offeredRps)} req/s`;
  return `${rates} in time (${formatPercent(sloAttainment)}); peak ${formatRate(peakRps)} req/s`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(6))} ms`;
  return seconds < 120
    ? `${Number(seconds.toPrecision(6))} s`
    : `${Number((seconds / 60).toPrecision(3))} min`;
}

function timeUnit(seconds: number): { readonly name: string; readonly seconds: number } {
  if (seconds > 3 * 3600) return { name: 'h', seconds: 3600 };
  return seconds > 10 * 60 ? { name: 'min', seconds: 60 } : { name: 's', seconds: 1 };
}
