import type { DrawnRun } from '../../record/results.js';
import { formatPercent, formatRate } from '../../text/numbers.js';
import { ALERT, type ChartSpec, chart, MUTED, STRONG, ZOOM_TIME } from './theme.js';
import { binsPerPoint, endOf, formatSeconds, ratePoints, timeAxis, timeUnit } from './time-bins.js';

const WIDTH = 600;
const HEIGHT = 300;
/** More points are averaged: steps below a pixel are invisible. */
const MAX_POINTS = 600;

const LINES = [
  { field: 'offeredRps', name: 'offered', color: MUTED, dash: [2, 2], width: 1.5 },
  { field: 'goodputRps', name: 'goodput', color: STRONG, dash: [1, 0], width: 2.2 },
  { field: 'failedRps', name: 'failed or late', color: ALERT, dash: [7, 3], width: 1.6 },
] as const;

/** Offered load, goodput and failures over time, in requests per second. */
export function overTime({ series, summary }: Pick<DrawnRun, 'series' | 'summary'>, note = ''): ChartSpec {
  const bins = binsPerPoint(series, MAX_POINTS);
  const { beginSeconds } = series;
  const endSeconds = endOf(series);
  const unit = timeUnit(endSeconds);
  const rows = LINES.flatMap(({ field, name }) =>
    ratePoints(series, field, bins, unit).map((point) => ({ name, ...point })),
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
        `bins of ${formatSeconds(series.binSeconds * bins)}`,
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
        x: timeAxis(unit, beginSeconds, endSeconds),
        y: { field: 'rps', type: 'quantitative', title: 'requests/s', axis: { format: ',~f', tickCount: 7 } },
        color: style(LINES.map(({ color }) => color)),
        strokeDash: style(LINES.map(({ dash }) => dash)),
        strokeWidth: style(LINES.map(({ width }) => width)),
      },
    },
  );
}

function describe({ goodputRps, offeredRps, attainment }: DrawnRun['summary'], peakRps: number): string {
  const rates = `${formatRate(goodputRps)} of ${formatRate(offeredRps)} req/s`;
  return `${rates} in time (${formatPercent(attainment)}); peak ${formatRate(peakRps)} req/s`;
}
