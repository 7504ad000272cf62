import type { ModelStatus } from '../../live/observe/status/cluster-status.js';
import { attainment, count, milliseconds, NOTHING, percent, rate } from './figures.js';

/** A column of the model table. */
export interface ModelColumn {
  readonly id: string;
  readonly label: string;
  readonly width: number;
  /** Columns of higher rank go first where the terminal is narrow. */
  readonly rank: number;
  readonly means: string;
  /** What rows are sorted by; null comes last. */
  readonly value: (model: ModelStatus) => number | string | null;
  readonly text: (model: ModelStatus) => string;
}

export const NAME_COLUMN = 'name';
export const DEFAULT_COLUMN = 'arrived';

/** The name is the last one, and takes what is left of the line. */
export const MODEL_COLUMNS: readonly ModelColumn[] = [
  figures('copies', 'WARM', 4, 3, 'GPUs that hold the model', ({ copies }) => copies, count),
  figures('queued', 'QUEUED', 6, 0, 'requests waiting for it', ({ queued }) => queued, count),
  figures('arrived', 'ARR/S', 5, 0, 'requests arriving', ({ offeredRps }) => offeredRps, rate),
  figures('good', 'GOOD/S', 6, 0, 'answers within their SLO', ({ goodputRps }) => goodputRps, rate),
  figures('failed', 'FAIL/S', 6, 2, 'all other answers', ({ failedRps }) => failedRps, rate),
  figures('attained', 'SLO%', 4, 6, 'share of answers within their SLO', attainment, percent),
  figures('queue', 'QUEUEms', 7, 1, 'from arrival to execution', ({ queueMs }) => queueMs, milliseconds),
  figures('copyIn', 'INms', 5, 5, 'copying inputs to the GPU', ({ copyInMs }) => copyInMs, milliseconds),
  figures('exec', 'EXECms', 6, 0, 'execution', ({ execMs }) => execMs, milliseconds),
  figures('copyOut', 'OUTms', 5, 4, 'copying outputs back', ({ copyOutMs }) => copyOutMs, milliseconds),
  {
    id: NAME_COLUMN,
    label: 'MODEL',
    width: 0,
    rank: 0,
    means: '',
    value: ({ name }) => name,
    text: ({ name }) => name,
  },
];

function figures(
  id: string,
  label: string,
  width: number,
  rank: number,
  means: string,
  value: (model: ModelStatus) => number | null,
  show: (value: number) => string,
): ModelColumn {
  const text = (model: ModelStatus) => {
    const found = value(model);
    return found === null ? NOTHING : show(found);
  };
  return { id, label, width, rank, means, value, text };
}
