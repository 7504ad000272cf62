import type { TimelineEntry, WorstMoment } from '../../record/results.js';
import { formatMs, formatPercent } from '../../text/numbers.js';
import { textWidth } from '../../text/text-width.js';
import { ALERT, type ChartSpec, chart, INK, joined, STRONG, ZOOM_TIME } from './theme.js';

const WIDTH = 620;
const LABEL_SIZE = 10;
/** Limit on the actions of a lane, so that most bars have room for a label. */
const MAX_ACTIONS = 16;
const MAX_LANES = 12;
/** Height of a lane, px: bars in the upper part, windows staggered under them. */
const LANE = 62;
const BAR = 24;
const WINDOW_ROWS = 5;
/** Fewer letters do not identify a model. */
const FEWEST_LETTERS = 3;
const WINDOW_GAP = 5;
const FILLS = { INFER: '#dbe8f7', LOAD: '#e3a552' } as const;

interface TimelineView {
  /** Start of the chart; absent: at the first action. */
  readonly worst?: WorstMoment | undefined;
  readonly note?: string;
}

/**
 * The first lanes from the worst moment on, or in the first part of a timeline slice: a bar for each action, under it
 * the window in which it was allowed to start. Actions that missed their window are crosses.
 */
export function gpuTimeline(
  timeline: readonly TimelineEntry[],
  { worst, note = '' }: TimelineView = {},
): ChartSpec {
  const { lanes, startMs, endMs } = frameOf(timeline, worst);
  const entries = timeline
    .filter((entry) => lanes.includes(laneOf(entry)) && entry.endMs >= startMs && entry.beginMs < endMs)
    .sort((a, b) => byLane(a, b) || a.beginMs - b.beginMs);
  const perPixel = (endMs - startMs) / WIDTH;
  const oneStem = new Set(entries.map(({ model }) => stemOf(model))).size === 1;
  const rows = rowsOf(entries, lanes, perPixel, [startMs, endMs], oneStem);
  const height = lanes.length * LANE;
  const x = (field: string) => ({
    field,
    type: 'quantitative' as const,
    title: 'time since the start (ms)',
    scale: { domain: [startMs, endMs], nice: false, zero: false },
    axis: { format: ',~f', tickCount: 10 },
  });
  const y = (field: string) => ({
    field,
    type: 'quantitative' as const,
    scale: { domain: [0, height], reverse: true, nice: false },
    title: null,
    axis: {
      values: lanes.map((_, i) => i * LANE + 6 + BAR / 2),
      labelExpr: `${JSON.stringify(lanes)}[floor(datum.value / ${LANE})]`,
      grid: false,
      domain: false,
      ticks: false,
      labelPadding: 8,
    },
  });
  const fill = {
    field: 'kind',
    type: 'nominal',
    scale: { domain: ['INFER', 'LOAD'], range: [FILLS.INFER, FILLS.LOAD] },
    legend: { title: null, orient: 'top', symbolType: 'square', symbolSize: 180, symbolStrokeColor: INK },
  } as const;
  const done = rows.filter((row) => !row.failed);
  const missed = rows.filter((row) => row.failed);

  return chart(
    {
      title: 'GPU timeline',
      subtitle: joined(
        worst === undefined ? '' : worstText(worst),
        describe(rows, lanes, timeline, endMs - startMs, oneStem),
        note,
      ),
      width: WIDTH + 120,
    },
    {
      width: WIDTH,
      height,
      layer: [
        {
          data: { values: lanes.slice(1).map((_, i) => ({ y: (i + 1) * LANE })) },
          mark: { type: 'rule', color: '#c4ccd6', strokeWidth: 0.8 },
          encoding: { y: y('y') },
        },
        {
          data: { values: rows },
          params: [ZOOM_TIME],
          mark: { type: 'rule', color: STRONG, strokeWidth: 1.3, clip: true },
          encoding: { x: x('earliest'), x2: { field: 'latest' }, y: y('window') },
        },
        {
          data: { values: done },
          mark: { type: 'rect', stroke: INK, strokeWidth: 0.8, clip: true },
          encoding: {
            x: x('begin'),
            x2: { field: 'end' },
            y: y('top'),
            y2: { field: 'bottom' },
            fill,
            tooltip: { field: 'note' },
          },
        },
        {
          data: { values: done.filter((row) => row.label !== '') },
          mark: { type: 'text', fontSize: LABEL_SIZE, color: INK, clip: true },
          encoding: { x: x('middle'), y: y('mid'), text: { field: 'label' } },
        },
        {
          data: { values: missed },
          mark: { type: 'text', fontSize: 16, fontWeight: 600, color: ALERT, text: '×', clip: true },
          encoding: { x: x('latest'), y: y('window'), tooltip: { field: 'note' } },
        },
      ],
    },
  );
}

/** The part of a slice that `gpuTimeline` draws: drawing it gives the same chart as drawing all. */
export function drawnPart(timeline: readonly TimelineEntry[], worst?: WorstMoment): TimelineEntry[] {
  const { startMs, endMs } = frameOf(timeline, worst);
  const met = new Set<string>();
  return timeline.filter((entry) => {
    const isFirst = !met.has(laneOf(entry));
    met.add(laneOf(entry));
    return isFirst || (entry.endMs >= startMs && entry.beginMs <= endMs);
  });
}

function rowsOf(
  entries: readonly TimelineEntry[],
  lanes: readonly string[],
  perPixel: number,
  [startMs, endMs]: readonly [number, number],
  oneStem: boolean,
) {
  const ranks = new Map<string, number>();
  return entries.map((entry) => {
    const lane = laneOf(entry);
    const rank = ranks.get(lane) ?? 0;
    ranks.set(lane, rank + 1);
    const top = lanes.indexOf(lane) * LANE + 6;
    const begin = Math.max(entry.beginMs, startMs);
    const end = Math.min(entry.endMs, endMs);
    return {
      kind: entry.kind,
      begin: entry.beginMs,
      end: entry.endMs,
      shownMs: end - begin,
      middle: (begin + end) / 2,
      top,
      bottom: top + BAR,
      mid: top + BAR / 2,
      earliest: entry.earliestMs,
      latest: entry.latestMs,
      window: top + BAR + 5 + (rank % WINDOW_ROWS) * WINDOW_GAP,
      label: labelOf(entry, (end - begin) / perPixel - 6, oneStem),
      failed: entry.status !== 0,
      note: noteOf(entry),
    };
  });
}

/**
 * Model and batch size, with the name shortened to fit the bar; empty if it does not fit. The bare instance number is
 * used only if all models share one stem.
 */
function labelOf({ model, kind, batch }: TimelineEntry, widthPx: number, oneStem: boolean): string {
  const times = kind === 'INFER' ? ` ×${batch}` : '';
  const number = model.slice(stemOf(model).length).replace(/^\D/, '#');
  const cut = Array.from(
    { length: Math.max(0, model.length - FEWEST_LETTERS) },
    (_, i) => `${model.slice(0, -1 - i)}…`,
  );
  const names = [model, ...(oneStem ? (number === '' ? [] : [number]) : cut)];
  const labels = names.map((name) => `${name}${times}`);
  return labels.find((label) => textWidth(label, LABEL_SIZE) <= widthPx) ?? '';
}

/** Name of a model without the instance number: `resnet50` of `resnet50-12`. */
function stemOf(model: string): string {
  return model.replace(/[-_#]\d+$/, '');
}

function noteOf(entry: TimelineEntry): string {
  const what = `${entry.kind} ${entry.model}${entry.kind === 'INFER' ? ` ×${entry.batch}` : ''}`;
  const ran =
    entry.status === 0
      ? `ran ${entry.beginMs.toFixed(3)}–${entry.endMs.toFixed(3)} ms`
      : `not run, status ${entry.status} at ${entry.beginMs.toFixed(3)} ms`;
  return `${what}: ${ran}; window ${entry.earliestMs.toFixed(3)}–${entry.latestMs.toFixed(3)} ms`;
}

/** The first lanes, from the worst moment or the first action until the busiest lane has as many actions as fit. */
function frameOf(timeline: readonly TimelineEntry[], worst?: WorstMoment) {
  const lanes = [...new Set([...timeline].sort(byLane).map(laneOf))].slice(0, MAX_LANES);
  const shown = timeline.filter((entry) => lanes.includes(laneOf(entry)));
  const startMs = worst?.fromMs ?? Math.min(...shown.map(({ beginMs }) => beginMs));
  const ends = lanes.map((lane) => {
    const begins = shown.filter((entry) => laneOf(entry) === lane && entry.beginMs >= startMs);
    return (
      begins.map(({ beginMs }) => beginMs).sort((a, b) => a - b)[MAX_ACTIONS] ?? Number.POSITIVE_INFINITY
    );
  });
  const lastMs = Math.max(worst?.toMs ?? 0, ...shown.map(({ endMs }) => endMs));
  return { lanes, startMs, endMs: Math.max(startMs + 1, Math.min(lastMs, ...ends)) };
}

function worstText({ fromMs, toMs, missed }: WorstMoment): string {
  return `begins in the second with the most misses: ${missed} within ${formatMs(toMs - fromMs)} from ${formatMs(fromMs)} on`;
}

function describe(
  rows: readonly { kind: string; shownMs: number; failed: boolean }[],
  lanes: readonly string[],
  timeline: readonly TimelineEntry[],
  lengthMs: number,
  oneStem: boolean,
): string {
  const exec = lanes.filter((lane) => lane.endsWith('EXEC')).length;
  const busyMs = rows.reduce((sum, row) => sum + (row.kind === 'INFER' ? row.shownMs : 0), 0);
  const missed = rows.filter((row) => row.failed).length;
  const all = new Set(timeline.map(laneOf)).size;
  return joined(
    `${formatMs(lengthMs)} shown`,
    exec > 0 ? `EXEC busy ${formatPercent(Math.min(1, busyMs / (exec * lengthMs)))}` : '',
    oneStem ? 'labels: #instance ×batch' : 'labels: model ×batch',
    'thin lines: windows in which an action may start',
    missed > 0 ? `× missed its window (${missed})` : '',
    all > lanes.length ? `${lanes.length} of ${all} lanes` : '',
  );
}

function laneOf(entry: TimelineEntry): string {
  return `GPU ${entry.gpu} ${entry.lane}`;
}

function byLane(a: TimelineEntry, b: TimelineEntry): number {
  return a.gpu - b.gpu || (a.lane < b.lane ? -1 : a.lane > b.lane ? 1 : 0);
}
