import type { DrawnRun, FleetOverTime, TimeSeries, TunedSeries } from '../../record/results.js';
import { formatPercent, formatRate, significant } from '../../text/numbers.js';
import { endLabels, seriesEncoding } from './end-labels.js';
import { ALERT, type ChartSpec, chart, MUTED, niceTop, STRONG, WEAK, ZOOM_TIME } from './theme.js';

const WIDTH = 600;
/** Heights of the panel of requests, and of those below it, px. */
const HEIGHT = 280;
const LOWER_HEIGHT = 130;
/** Lines of several runs that cross at every point are indistinguishable. */
const MAX_POINTS = 80;

const LINES = [
  { field: 'offeredRps', name: 'offered', color: MUTED, dash: [2, 2], width: 1.5 },
  { field: 'goodputRps', name: 'goodput', color: STRONG, dash: [1, 0], width: 2.2 },
  { field: 'failedRps', name: 'failed or late', color: ALERT, dash: [7, 3], width: 1.6 },
] as const;

/** Each panel has its own legend. */
const LEGENDS = { color: 'independent', strokeDash: 'independent', strokeWidth: 'independent' };

/**
 * One run over time: offered load, goodput and failures, and on the same axis below them the GPUs of a scaler and the
 * values that the policy tuned. Answers after the nominal end of the workload are right of a rule.
 */
export function overTime(run: DrawnRun, note = ''): ChartSpec {
  const { series, summary, fleet, tuned = [] } = run;
  const time = timeOf([run]);
  const binText = formatSeconds(series.binSeconds);
  const panels = [
    requestsPanel(run, time),
    ...(fleet === undefined ? [] : [fleetPanel(fleet, time)]),
    ...tuned.filter(changes).map((one) => tunedPanel(one, series, time)),
  ];
  const rates = `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} req/s`;
  const subtitle = [
    `${rates} in time (${formatPercent(summary.attainment)}); peak ${formatRate(Math.max(0, ...series.offeredRps))} req/s`,
    `bins of ${binText}`,
    ...(series.beginSeconds > 0 ? [`without the warm-up of ${formatSeconds(series.beginSeconds)}`] : []),
    ...(tuned.some(changes) ? ['bands: lowest to highest value in a bin'] : []),
    ...(note === '' ? [] : [note]),
  ];
  return chart(
    { title: 'Requests over time', subtitle: subtitle.join(' · '), width: WIDTH + 110 },
    { vconcat: panels, spacing: 26, resolve: { scale: { x: 'shared', ...LEGENDS } } },
  );
}

/** Goodput of several runs over time, one line each. */
export function runsOverTime(
  runs: readonly { readonly name: string; readonly run: Pick<DrawnRun, 'series' | 'summary'> }[],
): ChartSpec {
  const names = runs.map(({ name }) => name);
  const time = timeOf(runs.map(({ run }) => run));
  const bins = ({ offeredRps }: TimeSeries) => Math.max(1, Math.ceil(offeredRps.length / MAX_POINTS));
  const points = runs.map(({ name, run: { series } }) =>
    pointsOf(series, averaged(series.goodputRps, bins(series)), time, bins(series)).map(({ at, value }) => ({
      name,
      at,
      rps: value,
    })),
  );
  const top = niceTop(Math.max(...points.flat().map(({ rps }) => rps)));
  const widths = new Set(runs.map(({ run: { series } }) => formatSeconds(series.binSeconds * bins(series))));
  const style = seriesEncoding('name', names);
  const said = runs.map(
    ({ name, run: { summary } }) =>
      `${name}: ${formatRate(summary.goodputRps)} req/s in time (${formatPercent(summary.attainment)})`,
  );
  return chart(
    {
      title: 'Goodput over time',
      subtitle: [...said, `bins of ${[...widths].join(' and ')}`].join(' · '),
      width: WIDTH + 190,
    },
    {
      width: WIDTH,
      height: HEIGHT,
      layer: [
        {
          data: { values: points.flat() },
          params: [ZOOM_TIME],
          mark: { type: 'line', strokeWidth: 2, clip: true },
          encoding: {
            x: time.axis,
            y: { ...rate('answers within their SLO/s'), scale: { domain: [0, top], nice: false } },
            color: style('color'),
            strokeDash: style('dash'),
          },
        },
        ...endLabels({
          names,
          ends: points.map((line) => (line.length === 0 ? null : line[line.length - 1]!.rps / top)),
          title: '',
          marks: false,
          width: WIDTH,
          height: HEIGHT,
        }),
      ],
    },
  );
}

/** True if a value changed, so that it is worth a panel. */
function changes({ low, high }: TunedSeries): boolean {
  return Math.min(...low) < Math.max(...high);
}

interface TimeAxis {
  readonly axis: object;
  readonly unitSeconds: number;
  readonly endSeconds: number;
}

/** Axis from the first bin of the runs to the last. */
function timeOf(runs: readonly Pick<DrawnRun, 'series'>[]): TimeAxis {
  const all = runs.map(({ series }) => series);
  const beginSeconds = Math.min(...all.map((series) => series.beginSeconds));
  const endSeconds = Math.max(
    ...all.map((series) => series.beginSeconds + series.offeredRps.length * series.binSeconds),
  );
  const [unit, unitSeconds] =
    endSeconds > 3 * 3600 ? ['h', 3600] : endSeconds > 600 ? ['min', 60] : (['s', 1] as const);
  const domain = [beginSeconds / Number(unitSeconds), endSeconds / Number(unitSeconds)];
  const axis = {
    field: 'at',
    type: 'quantitative',
    title: `time since the start (${unit})`,
    scale: { nice: false, zero: false, domain },
    axis: { grid: false, format: ',~f' },
  };
  return { axis, unitSeconds: Number(unitSeconds), endSeconds };
}

/** A value at the middle of each of these bins. */
function pointsOf(
  { beginSeconds, binSeconds }: TimeSeries,
  values: readonly number[],
  { unitSeconds }: TimeAxis,
  bins = 1,
): { at: number; value: number }[] {
  return values.map((value, i) => ({
    value,
    at: significant((beginSeconds + (i + 0.5) * binSeconds * bins) / unitSeconds, 9),
  }));
}

/** Means over `bins` successive values; a rest of less than half of them would be a false peak, and joins the last. */
function averaged(values: readonly number[], bins: number): number[] {
  const count = Math.max(1, Math.round(values.length / bins));
  return Array.from({ length: Math.min(count, values.length) }, (_, i) => {
    const part = values.slice(i * bins, i === count - 1 ? undefined : (i + 1) * bins);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}

function rate(title: string) {
  return { field: 'rps', type: 'quantitative', title, axis: { format: ',~f', tickCount: 7 } };
}

function requestsPanel({ series, summary }: DrawnRun, time: TimeAxis): object {
  const rows = LINES.flatMap(({ field, name }) =>
    pointsOf(series, series[field], time).map(({ at, value }) => ({ name, at, rps: value })),
  );
  const names = LINES.map(({ name }) => name);
  const legend = { title: null, orient: 'top', symbolType: 'stroke', symbolSize: 400 };
  const style = (range: readonly unknown[]) => {
    return { field: 'name', type: 'ordinal', sort: names, legend, scale: { domain: names, range } };
  };
  const nominalEnd = series.beginSeconds + summary.durationSeconds;
  // A nanosecond, or the rounding of bins, is no tail.
  const hasTail = time.endSeconds - nominalEnd > series.binSeconds / 2;
  const end = { data: { values: [{ at: nominalEnd / time.unitSeconds }] }, encoding: { x: time.axis } };
  return {
    width: WIDTH,
    height: HEIGHT,
    layer: [
      ...(hasTail
        ? [
            { ...end, mark: { type: 'rule', color: MUTED, strokeDash: [3, 3] } },
            {
              ...end,
              mark: { type: 'text', y: 8, align: 'right', dx: -5, color: MUTED, text: 'end of the workload' },
            },
          ]
        : []),
      {
        data: { values: rows },
        params: [ZOOM_TIME],
        mark: { type: 'line', clip: true },
        encoding: {
          x: time.axis,
          y: rate('requests/s'),
          color: style(LINES.map(({ color }) => color)),
          strokeDash: style(LINES.map(({ dash }) => dash)),
          strokeWidth: style(LINES.map(({ width }) => width)),
        },
      },
    ],
  };
}

/** GPUs on, and paid for. */
function fleetPanel({ steps }: FleetOverTime, { axis, unitSeconds, endSeconds }: TimeAxis): object {
  const sum = (gpus: readonly number[]) => gpus.reduce((total, count) => total + count, 0);
  const rows = steps.map(({ atSeconds, on, starting, draining }) => ({
    at: significant(atSeconds / unitSeconds, 9),
    on: sum(on),
    paid: sum(on) + sum(starting) + sum(draining),
  }));
  const last = rows.at(-1);
  const names = ['paid for', 'on'];
  const encoding = (name: string, field: string) => ({
    x: axis,
    y: { field, type: 'quantitative', title: 'GPUs', axis: { format: ',~f', tickMinStep: 1 } },
    color: {
      datum: name,
      type: 'nominal',
      scale: { domain: names, range: [WEAK, STRONG] },
      legend: { title: null, orient: 'top', symbolType: 'stroke', symbolSize: 400 },
    },
  });
  return {
    width: WIDTH,
    height: LOWER_HEIGHT,
    data: { values: last === undefined ? [] : [...rows, { ...last, at: endSeconds / unitSeconds }] },
    layer: [
      {
        mark: { type: 'area', interpolate: 'step-after', opacity: 0.7, clip: true },
        encoding: encoding('paid for', 'paid'),
      },
      {
        mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.8, clip: true },
        encoding: encoding('on', 'on'),
      },
    ],
  };
}

/** A value that the policy tuned: at the end of each bin, and its range inside. */
function tunedPanel(tuned: TunedSeries, series: TimeSeries, time: TimeAxis): object {
  const rows = pointsOf(series, tuned.values, time).map((point, bin) => ({
    ...point,
    low: tuned.low[bin]!,
    high: tuned.high[bin]!,
  }));
  // Spelling of the literature: `scheduleAhead` is `schedule_ahead`.
  const name = tuned.name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const y = {
    type: 'quantitative',
    title: tuned.unit === '' ? name : `${name} (${tuned.unit})`,
    scale: { domain: [Math.min(0, ...tuned.low), niceTop(Math.max(...tuned.high))], nice: false },
    axis: { format: ',~f', tickCount: 4 },
  };
  return {
    width: WIDTH,
    height: LOWER_HEIGHT,
    data: { values: rows },
    layer: [
      {
        mark: { type: 'area', color: WEAK, opacity: 0.6, clip: true, interpolate: 'step' },
        encoding: { x: time.axis, y: { ...y, field: 'low' }, y2: { field: 'high' } },
      },
      {
        mark: { type: 'line', color: STRONG, strokeWidth: 1.8, clip: true, interpolate: 'step' },
        encoding: { x: time.axis, y: { ...y, field: 'value' } },
      },
    ],
  };
}

function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${significant(seconds * 1000, 3)} ms`;
  return seconds < 120 ? `${significant(seconds, 3)} s` : `${significant(seconds / 60, 3)} min`;
}
