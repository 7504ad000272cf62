import type { ClusterStatus, GpuStatus } from '../../live/observe/status/cluster-status.js';
import { padEnd } from './cells.js';
import { cellHeading, gpuCell, LEAST_CELL_COLUMNS, laneStyle, layoutCell } from './gpu-cell.js';
import { fillLine, type Line, type Style, span } from './line.js';
import { block, meter } from './meter.js';

const GAP = 2;

/** All GPUs in at most `rows` lines, at least 2: one a line, several a line, or a summary where they are too many. */
export function gpuLines({ gpus }: ClusterStatus, columns: number, rows: number): Line[] {
  const mostColumns = Math.max(1, Math.floor((columns + GAP) / (LEAST_CELL_COLUMNS + GAP)));
  for (let perRow = 1; perRow <= mostColumns; perRow++) {
    if (Math.ceil(gpus.length / perRow) + 1 <= rows) return gpuGrid(gpus, columns, perRow);
  }
  return summary(gpus, columns).slice(0, Math.max(2, rows));
}

/** Column by column, as people read meters. */
function gpuGrid(gpus: readonly GpuStatus[], columns: number, perRow: number): Line[] {
  const height = Math.ceil(gpus.length / perRow);
  const width = Math.floor((columns - GAP * (perRow - 1)) / perRow);
  const laneNames = laneNamesOf(gpus);
  const layout = layoutCell(width, laneNames.length, new Set(gpus.map(({ kind }) => kind)).size > 1);
  const gap = ' '.repeat(GAP);
  const filled = Array.from({ length: Math.ceil(gpus.length / height) }, () =>
    padEnd(cellHeading(layout, laneNames), width),
  );
  const heading = fillLine([span(filled.join(gap), 'heading')], columns, 'heading');
  const lines = Array.from({ length: height }, (_, line) =>
    filled.flatMap((_, column): Line => {
      const number = column * height + line;
      if (number >= gpus.length) return [];
      const cell = fillLine(gpuCell(gpus[number], number, layout), width);
      return column === 0 ? cell : [span(gap), ...cell];
    }),
  );
  return [heading, ...lines];
}

const SUMMARY_LABEL = 9;
const SUMMARY_METER = 20;

/** The means of all GPUs, and a block for each, or for several. */
function summary(gpus: readonly GpuStatus[], columns: number): Line[] {
  const up = gpus.filter((gpu) => gpu.up);
  const warm = up.reduce((sum, { warmModels }) => sum + warmModels, 0);
  const room = Math.max(1, columns - SUMMARY_LABEL - SUMMARY_METER - 1);
  const perBlock = Math.ceil(gpus.length / room);
  const each = perBlock === 1 ? '1 GPU' : `${perBlock} GPUs`;
  const text = ` ${up.length} of ${gpus.length} GPUs up, ${warm} warm models; one block: ${each}`;
  const laneNames = laneNamesOf(gpus);
  const shares: [string, Style, (gpu: GpuStatus) => number][] = [
    ...laneNames.map((name, lane): [string, Style, (gpu: GpuStatus) => number] => [
      laneNames.length === 1 ? 'LANE' : name,
      laneStyle(lane),
      ({ lanes }) => lanes[lane]?.busy ?? 0,
    ]),
    ['CACHE', 'cache', ({ pages, freePages }) => 1 - freePages / Math.max(1, pages)],
  ];
  return [
    fillLine([span(text, 'heading')], columns, 'heading'),
    ...shares.map(
      ([name, style, share]): Line => [
        span(padEnd(` ${name}`, SUMMARY_LABEL), 'label'),
        ...meter(mean(up, share), SUMMARY_METER, style),
        span(' '),
        ...blocks(gpus, perBlock, share, style),
      ],
    ),
  ];
}

function blocks(
  gpus: readonly GpuStatus[],
  perBlock: number,
  share: (gpu: GpuStatus) => number,
  style: Style,
): Line {
  return Array.from({ length: Math.ceil(gpus.length / perBlock) }, (_, i) => {
    const group = gpus.slice(i * perBlock, (i + 1) * perBlock);
    const up = group.filter((gpu) => gpu.up);
    return up.length < group.length ? span('x', 'bad') : span(block(mean(up, share)), style);
  });
}

function mean(gpus: readonly GpuStatus[], share: (gpu: GpuStatus) => number): number {
  return gpus.length === 0 ? 0 : gpus.reduce((sum, gpu) => sum + share(gpu), 0) / gpus.length;
}

function laneNamesOf([first]: readonly GpuStatus[]): string[] {
  return first === undefined ? ['EXEC'] : first.lanes.map(({ lane }) => lane);
}
