import type { DrawnRun, TunedSeries } from '../../record/results.js';
import { formatPercent, formatRate, significant } from '../../text/numbers.js';
import { present } from '../lists.js';
import {
  ALERT,
  type ChartSpec,
  chart,
  joined,
  MUTED,
  STRONG,
  seriesEncoding,
  seriesStyle,
  ZOOM_TIME,
} from './theme.js';

const WIDTH = 600;
/** Heights of the panel of requests, and of those below it, px. */
const HEIGHT = 280;
const LOWER_HEIGHT = 130;

/** Styles of the lines of a panel, in this order. */
const STYLES = [
  { color: MUTED, dash: [2, 2], width: 1.5 },
  { color: STRONG, dash: [1, 0], width: 2.2 },
  { color: ALERT, dash: [7, 3], width: 1.6 },
] as const;

/** Each panel has its own legend. */
const LEGENDS = { color: 'independent', strokeDash: 'independent', strokeWidth: 'independent' };

/**
 * One run over time: offered load, goodput and failures; below, on the same axis, events, latency, GPU utilization, the
 * number of GPUs and the values that the policy tuned. A rule marks the nominal end of the workload.
 */
export function overTime(run: DrawnRun, note = ''): ChartSpec {
  const { windows, summary, tuned = [] } = run;
  const time = timeOf([run]);
  const panels = [
    ...requestsPanel(run, time),
    ...eventsPanel(run, time),
    ...gpuPanels(run, time),
    ...tuned.filter(changes).flatMap((one) => tunedPanel(one, run, time)),
  ];
  const rates = `${formatRate(summary.goodputRps)} of ${formatRate(summary.offeredRps)} req/s`;
  const peak = formatRate(Math.max(...windows.map(({ offeredRps }) => offeredRps ?? 0)));
  const subtitle = joined(
    `${rates} in time (${formatPercent(summary.attainment)}); peak ${peak} req/s`,
    `windows of ${formatSeconds(widthOf(run))}`,
    time.beginSeconds > 0 ? `without the warm-up of ${formatSeconds(time.beginSeconds)}` : '',
    note,
  );
  return chart(
    { title: 'Requests over time', subtitle, width: WIDTH + 110, fluid: true },
    { vconcat: panels, spacing: 26, resolve: { scale: { x: 'shared', ...LEGENDS } } },
  );
}

/** Goodput of several runs over time, one line each. */
export function runsOverTime(
  runs: readonly { readonly name: string; readonly run: Pick<DrawnRun, 'windows' | 'summary'> }[],
): ChartSpec {
  const time = timeOf(runs.map(({ run }) => run));
  const lines = runs.map(({ name, run: { windows } }, rank) => ({
    ...{ ...seriesStyle(rank), name, width: 2 },
    points: stepsOf(windows, time, ({ goodputRps }) => ({ value: goodputRps })),
  }));
  const widths = new Set(runs.map(({ run }) => formatSeconds(widthOf(run))));
  const said = runs.map(
    ({ name, run: { summary } }) =>
      `${name}: ${formatRate(summary.goodputRps)} req/s in time (${formatPercent(summary.attainment)})`,
  );
  const layer = linesLayer(lines, { title: 'answers within their SLO/s', axis: RATES }, time);
  return chart(
    {
      title: 'Goodput over time',
      subtitle: joined(...said, `windows of ${[...widths].join(' and ')}`),
      width: WIDTH + 110,
      fluid: true,
    },
    { width: WIDTH, height: HEIGHT, ...layer, params: [ZOOM_TIME] },
  );
}

/** True if a value changed: only then does it get a panel. */
function changes({ values }: TunedSeries): boolean {
  return values.some((value) => value !== values[0]);
}

type Windowed = Pick<DrawnRun, 'windows'>;

function widthOf({ windows: [{ beginSeconds, endSeconds }] }: Windowed): number {
  return significant(endSeconds - beginSeconds, 9);
}

interface TimeAxis {
  readonly axis: object;
  readonly unitSeconds: number;
  readonly beginSeconds: number;
  readonly endSeconds: number;
}

/** Axis from the first window of the runs to the last. */
function timeOf(runs: readonly Windowed[]): TimeAxis {
  const beginSeconds = Math.min(...runs.map(({ windows }) => windows[0].beginSeconds));
  const endSeconds = Math.max(...runs.map(({ windows }) => windows.at(-1)!.endSeconds));
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
  return { axis, unitSeconds: Number(unitSeconds), beginSeconds, endSeconds };
}

const RATES = { format: ',~f', tickCount: 7 };

/** A line of a panel; null: a gap. */
interface Line {
  readonly name: string;
  readonly color: string;
  readonly dash: readonly number[];
  readonly width: number;
  readonly points: readonly { readonly at: number; readonly value: number | null }[];
}

/** Lines with a legend above them. `y`: its title and axis. */
function linesLayer(lines: readonly Line[], y: object, { axis }: TimeAxis): object {
  const names = lines.map(({ name }) => name);
  const style = seriesEncoding('name', names, lines, { points: false });
  return {
    data: { values: lines.flatMap(({ name, points }) => points.map((point) => ({ name, ...point }))) },
    mark: { type: 'line', clip: true },
    encoding: {
      x: axis,
      y: { field: 'value', type: 'quantitative', ...y },
      ...{ color: style('color'), strokeDash: style('dash'), strokeWidth: style('width') },
    },
  };
}

/** A span of time with its values. */
type Step<T> = T & { readonly beginSeconds: number; readonly endSeconds: number };

/** Both ends of each span. */
function stepsOf<T, Row extends object>(
  steps: readonly Step<T>[],
  { unitSeconds }: TimeAxis,
  read: (step: Step<T>, index: number) => Row,
): (Row & { readonly at: number })[] {
  return steps.flatMap((step, i) =>
    [step.beginSeconds, step.endSeconds].map((seconds) => ({
      ...{ at: significant(seconds / unitSeconds, 9), ...read(step, i) },
    })),
  );
}

interface Panel<T> {
  readonly title: string;
  readonly axis: object;
  /** A line for each. */
  readonly read: Readonly<Record<string, (step: Step<T>) => number | null | undefined>>;
  readonly height?: number;
  /** Layers below the lines. */
  readonly below?: readonly object[];
  readonly params?: readonly object[];
}

/** A panel of values that are constant over spans of time; empty without values. */
function stepsPanel<T>(time: TimeAxis, steps: readonly Step<T>[], panel: Panel<T>): object[] {
  const { title, axis, read, height = LOWER_HEIGHT, below = [], params = [] } = panel;
  const lines = Object.entries(read).map(([name, readStep], i, { length }) => ({
    ...{ ...STYLES[length === 1 ? 1 : i]!, name },
    points: stepsOf(steps, time, (step) => ({ value: readStep(step) ?? null })),
  }));
  const known = lines.filter(({ points }) => points.some(({ value }) => value !== null));
  if (known.length === 0) return [];
  const values = known.flatMap(({ points }) => points.map(({ value }) => value ?? 0));
  const most = Math.max(...values);
  // A line along the upper edge would be clipped to half its width.
  const scale = { domain: [Math.min(0, ...values), most > 0 ? 1.04 * most : 1], nice: false };
  const layer = linesLayer(known, { title, axis: { tickCount: 4, ...axis }, scale }, time);
  return [{ width: WIDTH, height, layer: [...below, { ...layer, params }] }];
}

function requestsPanel({ windows, summary }: DrawnRun, time: TimeAxis): object[] {
  const nominalEnd = time.beginSeconds + summary.durationSeconds;
  const end = { data: { values: [{ at: nominalEnd / time.unitSeconds }] }, encoding: { x: time.axis } };
  const text = { type: 'text', y: 8, align: 'right', dx: -5, color: MUTED, text: 'end of the workload' };
  // Windows end up to one width after the nominal end; that is no tail.
  const hasTail = time.endSeconds - nominalEnd > widthOf({ windows }) / 2;
  return stepsPanel(time, windows, {
    title: 'requests/s',
    axis: RATES,
    height: HEIGHT,
    params: [ZOOM_TIME],
    below: present(
      hasTail && { ...end, mark: { type: 'rule', color: MUTED, strokeDash: [3, 3] } },
      hasTail && { ...end, mark: text },
    ),
    read: {
      offered: ({ offeredRps }) => offeredRps,
      goodput: ({ goodputRps }) => goodputRps,
      'failed or late': ({ failedRps }) => failedRps,
    },
  });
}

/** Latency, GPU utilization and number of GPUs. */
function gpuPanels({ windows, fleet, sloMs }: DrawnRun, time: TimeAxis): object[] {
  const sum = (gpus: readonly number[]) => gpus.reduce((total, count) => total + count, 0);
  const steps = (fleet?.steps ?? []).map((step, i, all) => ({
    ...{ ...step, beginSeconds: step.atSeconds, endSeconds: all[i + 1]?.atSeconds ?? time.endSeconds },
  }));
  return [
    ...stepsPanel(time, windows, {
      title: 'latency, executed (ms)',
      axis: { format: ',~f' },
      read: {
        p50: ({ executedP50Ms }) => executedP50Ms,
        p99: ({ executedP99Ms }) => executedP99Ms,
        SLO: () => sloMs,
      },
    }),
    ...stepsPanel(time, windows, {
      title: 'lanes busy',
      axis: { format: '~%' },
      read: {
        WEIGHTS: ({ weightsUtilization }) => weightsUtilization,
        EXEC: ({ execUtilization }) => execUtilization,
      },
    }),
    ...stepsPanel(time, steps, {
      title: 'GPUs',
      axis: { format: ',~f', tickMinStep: 1 },
      read: {
        'paid for': ({ on, starting, draining }) => sum([...on, ...starting, ...draining]),
        on: ({ on }) => sum(on),
      },
    }),
  ];
}

/** Events of GPUs, one row per kind, and the start of the GPU timeline; empty without events. */
function eventsPanel({ events = [], worst }: DrawnRun, time: TimeAxis): object[] {
  const begin = worst && { atSeconds: worst.fromMs / 1000, kind: 'GPU timeline', text: 'the most misses' };
  const rows = [...events, ...(begin === undefined ? [] : [begin])]
    .filter(({ atSeconds }) => atSeconds >= time.beginSeconds && atSeconds <= time.endSeconds)
    .map(({ atSeconds, ...row }) => ({ ...row, at: significant(atSeconds / time.unitSeconds, 9) }));
  if (rows.length === 0) return [];
  return [
    {
      width: WIDTH,
      height: { step: 18 },
      data: { values: rows },
      mark: { type: 'tick', color: ALERT, thickness: 2, size: 14 },
      encoding: {
        x: time.axis,
        y: { field: 'kind', type: 'nominal', sort: null, title: null, axis: { grid: true } },
        tooltip: { field: 'text' },
      },
    },
  ];
}

/** A value that the policy tuned, at the end of each window. */
function tunedPanel({ name, unit, values }: TunedSeries, run: Windowed, time: TimeAxis): object[] {
  const steps = run.windows.slice(0, values.length).map((window, i) => ({ ...window, value: values[i] }));
  // As in the literature: `scheduleAhead` is `schedule_ahead`.
  const spelled = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return stepsPanel(time, steps, {
    title: unit === '' ? spelled : `${spelled} (${unit})`,
    axis: { format: ',~f' },
    read: { [spelled]: ({ value }) => value },
  });
}

function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${significant(seconds * 1000, 3)} ms`;
  return seconds < 120 ? `${significant(seconds, 3)} s` : `${significant(seconds / 60, 3)} min`;
}
