import type { DrawnRun, FleetOverTime } from '../../record/results.js';
import { formatPercent, formatRate, significant } from '../../text/numbers.js';
import { fleetUse } from '../cost-text.js';
import { ALERT, type ChartSpec, chart, MUTED, STRONG, WEAK, ZOOM_TIME } from './theme.js';
import { binsPerPoint, endOf, formatSeconds, ratePoints, timeAxis, timeUnit } from './time-bins.js';

const WIDTH = 600;
const HEIGHT = 260;
/** More points are averaged: steps below a pixel are invisible. */
const MAX_POINTS = 300;

/** Number of GPUs on, and paid for, over time, with the incoming requests. */
export function fleetOverTime(
  fleet: FleetOverTime,
  { series, summary }: Pick<DrawnRun, 'series' | 'summary'>,
  note = '',
): ChartSpec {
  const endSeconds = endOf(series);
  const { beginSeconds } = series;
  const unit = timeUnit(endSeconds);
  const x = timeAxis(unit, beginSeconds, endSeconds);
  const bins = binsPerPoint(series, MAX_POINTS);
  const names = ['paid for', 'on', 'requests'];
  const range = [WEAK, STRONG, ALERT];
  const color = (name: string) => ({
    datum: name,
    type: 'nominal',
    scale: { domain: names, range },
    legend: { title: null, orient: 'top', symbolType: 'stroke', symbolSize: 400 },
  });
  const gpus = { type: 'quantitative', title: 'GPUs', axis: { format: ',~f', tickMinStep: 1 } } as const;
  const steps = { data: { values: stepRows(fleet, endSeconds, unit.seconds) } };
  return chart(
    {
      title: 'GPUs and requests over time',
      subtitle: [
        describe(summary),
        `requests in bins of ${formatSeconds(series.binSeconds * bins)}`,
        ...(note === '' ? [] : [note]),
      ].join(' · '),
      width: WIDTH + 110,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      resolve: { scale: { y: 'independent' } },
      layer: [
        {
          layer: [
            {
              ...steps,
              mark: { type: 'area', interpolate: 'step-after', opacity: 0.7, clip: true },
              encoding: { x, y: { ...gpus, field: 'paid' }, color: color('paid for') },
            },
            {
              ...steps,
              params: [ZOOM_TIME],
              mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.8, clip: true },
              encoding: { x, y: { ...gpus, field: 'on' }, color: color('on') },
            },
          ],
        },
        {
          data: { values: ratePoints(series, 'offeredRps', bins, unit) },
          mark: { type: 'line', strokeWidth: 1.2, strokeDash: [4, 2], clip: true },
          encoding: {
            x,
            y: {
              field: 'rps',
              type: 'quantitative',
              title: 'requests/s',
              axis: { format: ',~f', grid: false, titleColor: MUTED },
            },
            color: color('requests'),
          },
        },
      ],
    },
  );
}

function stepRows({ steps }: FleetOverTime, endSeconds: number, unitSeconds: number) {
  const sum = (gpus: readonly number[]) => gpus.reduce((total, count) => total + count, 0);
  const rows = steps.map(({ atSeconds, on, starting, draining }) => ({
    at: significant(atSeconds / unitSeconds, 9),
    on: sum(on),
    paid: sum(on) + sum(starting) + sum(draining),
  }));
  const last = rows.at(-1);
  return last === undefined ? [] : [...rows, { ...last, at: endSeconds / unitSeconds }];
}

function describe({ scaling, attainment, offeredRps }: DrawnRun['summary']): string {
  const inTime = `${formatPercent(attainment)} of ${formatRate(offeredRps)} req/s in time`;
  if (scaling === undefined) return inTime;
  return `${scaling.scaler}: ${fleetUse(scaling)}; ${inTime}`;
}
