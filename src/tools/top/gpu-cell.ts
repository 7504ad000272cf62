import type { GpuStatus } from '../../live/observe/status/cluster-status.js';
import { padEnd, padStart } from './cells.js';
import { count, milliseconds } from './figures.js';
import { type Line, type Style, span } from './line.js';
import { emptyMeter, meter } from './meter.js';

export const LEAST_CELL_COLUMNS = 22;
const NUMBER = 3;
const WARM = 5;
const AHEAD = 7;
const KIND = 8;
const LEAST_RUNNING = 14;

/** Widths of the parts of a GPU's line; 0: left out. */
interface CellLayout {
  readonly lanes: readonly number[];
  readonly cache: number;
  readonly warm: number;
  readonly ahead: number;
  readonly running: number;
  readonly worker: number;
  readonly kind: number;
}

/** What fits into a line of so many columns: first the lanes, then cache, warm models, kinds if there are several, bookings, and what runs. */
export function layoutCell(columns: number, lanes: number, hasKinds = false): CellLayout {
  const warm = columns >= 44 ? WARM : 0;
  const ahead = columns >= 60 ? AHEAD : 0;
  const worker = columns >= 120 ? 20 : 0;
  const kind = hasKinds && columns >= 60 ? KIND : 0;
  const hasCache = columns >= 36;
  const wants = (width: number) => (width === 0 ? 0 : width + 1);
  const left = columns - NUMBER - wants(warm) - wants(ahead) - wants(worker) - wants(kind);
  const running = columns >= 72 ? Math.max(LEAST_RUNNING, Math.floor(left * 0.36)) : 0;
  const meters = lanes + (hasCache ? 1 : 0);
  const each = Math.floor((left - wants(running)) / meters) - 1;
  const spare = left - wants(running) - (each + 1) * meters;
  return {
    // EXEC matters most: it gets the columns that are left.
    lanes: Array.from({ length: lanes }, (_, lane) => each + (lane === 0 ? spare : 0)),
    cache: hasCache ? each : 0,
    warm,
    ahead,
    running,
    worker,
    kind,
  };
}

export function laneStyle(lane: number): Style {
  return lane === 0 ? 'exec' : 'weights';
}

/** The names of the parts, over them. */
export function cellHeading(layout: CellLayout, laneNames: readonly string[]): string {
  return [
    padStart('GPU', NUMBER),
    ...part(layout.kind, padEnd('KIND', layout.kind)),
    ...layout.lanes.map((width, lane) => padEnd(laneNames[lane], width)),
    ...part(layout.cache, padEnd('CACHE', layout.cache)),
    ...part(layout.warm, padStart('WARM', layout.warm)),
    ...part(layout.ahead, padStart('AHEADms', layout.ahead)),
    ...part(layout.running, padEnd('RUNS', layout.running)),
    ...part(layout.worker, padEnd('WORKER', layout.worker)),
  ].join(' ');
}

export function gpuCell(gpu: GpuStatus, number: number, layout: CellLayout): Line {
  const { lanes, pages, freePages, warmModels, up } = gpu;
  const running = lanes.map((lane) => lane.running).filter((text) => text !== '');
  const ahead = Math.max(0, ...lanes.map(({ bookedMs }) => bookedMs));
  const [exec, ...others] = layout.lanes;
  const meters = up
    ? layout.lanes.map((width, lane) => meter(lanes[lane]?.busy ?? 0, width, laneStyle(lane)))
    : [emptyMeter('gone', exec), ...others.map((width) => emptyMeter('', width))];
  return [
    span(padStart(String(number), NUMBER), up ? 'label' : 'bad'),
    ...cell(layout.kind, (width) => padEnd(gpu.kind, width)),
    ...meters.flatMap((line) => [span(' '), ...line]),
    ...(layout.cache === 0
      ? []
      : [span(' '), ...meter(1 - freePages / Math.max(1, pages), layout.cache, 'cache')]),
    ...cell(layout.warm, (width) => padStart(count(warmModels), width)),
    ...cell(layout.ahead, (width) => padStart(milliseconds(ahead), width)),
    ...cell(layout.running, (width) => padEnd(running.join(', '), width)),
    ...cell(layout.worker, (width) => padEnd(gpu.worker, width)),
  ];
}

function cell(width: number, text: (width: number) => string): Line {
  return width === 0 ? [] : [span(` ${text(width)}`)];
}

function part(width: number, text: string): string[] {
  return width === 0 ? [] : [text];
}
