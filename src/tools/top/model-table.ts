import type { ClusterStatus, ModelStatus } from '../../live/observe/status/cluster-status.js';
import { padStart, widthOf } from './cells.js';
import { fillLine, type Line, span } from './line.js';
import { MODEL_COLUMNS, type ModelColumn, NAME_COLUMN } from './model-columns.js';
import type { Extent, ViewState } from './view-state.js';

/** The name has at least so many cells, if it needs them. */
const NAME_COLUMNS = 16;

export interface ModelTable {
  /** The heading and at most as many rows as fit. */
  readonly lines: readonly Line[];
  readonly extent: Extent;
  /** First model shown. */
  readonly scroll: number;
}

/** Models as rows, sorted and filtered as the view says, in `rows` lines, at least one. */
export function modelTable(
  { models }: ClusterStatus,
  view: ViewState,
  columns: number,
  rows: number,
): ModelTable {
  const shown = columnsFor(columns, models);
  const wanted = view.filter.toLowerCase();
  const sorted = models
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .sort(comparison(MODEL_COLUMNS.find(({ id }) => id === view.sort) ?? shown[0], view.reversed));
  const page = Math.max(0, rows - 1);
  const scroll = Math.max(0, Math.min(view.scroll, sorted.length - page));
  const lines = sorted.slice(scroll, scroll + page).map((model) => row(model, shown));
  return {
    lines: [fillLine(heading(shown, view), columns, 'heading'), ...lines],
    extent: { page, total: sorted.length, columns: shown.map(({ id }) => id) },
    scroll,
  };
}

/** The most columns with which names are readable. */
function columnsFor(columns: number, models: readonly ModelStatus[]): ModelColumn[] {
  const longest = models.reduce((most, { name }) => Math.max(most, widthOf(name)), 5);
  const nameColumns = Math.min(NAME_COLUMNS, longest);
  const widthOfAll = (chosen: readonly ModelColumn[]) =>
    chosen.reduce((sum, { width }) => sum + width + 1, 0) + nameColumns + 1;
  let shown = [...MODEL_COLUMNS];
  while (widthOfAll(shown) > columns && shown.length > 1) {
    const others = shown.filter(({ id }) => id !== NAME_COLUMN);
    const least = others.reduce((left, right) => (right.rank >= left.rank ? right : left));
    shown = shown.filter((column) => column !== least);
  }
  return shown;
}

function heading(shown: readonly ModelColumn[], { sort, reversed }: ViewState): Line {
  return shown.flatMap(({ id, label, width }) => {
    const isSorted = id === sort;
    // Names sort ascending first, figures descending.
    const arrow = isSorted ? ((id === NAME_COLUMN) === reversed ? '▼' : '▲') : ' ';
    const text = id === NAME_COLUMN ? `${arrow}${label}` : padStart(`${arrow}${label}`, width + 1);
    return [span(text, isSorted ? 'sorted' : 'heading')];
  });
}

function row(model: ModelStatus, shown: readonly ModelColumn[]): Line {
  const isIdle = model.offeredRps === 0 && model.queued === 0;
  return shown.map(({ id, width, text }) => {
    const cell = text(model);
    if (id === NAME_COLUMN) return span(` ${cell}`, isIdle ? 'dim' : 'bold');
    const isBad = (id === 'failed' && model.failedRps > 0) || (id === 'queued' && model.queued > 0);
    const style = isBad ? (id === 'failed' ? 'bad' : 'warn') : isIdle || cell === '0' ? 'dim' : 'plain';
    return span(padStart(cell, width + 1), style);
  });
}

function comparison({ id, value }: ModelColumn, reversed: boolean) {
  const direction = (id === NAME_COLUMN) === reversed ? -1 : 1;
  return (left: ModelStatus, right: ModelStatus): number => {
    const [a, b] = [value(left), value(right)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return a === b ? 0 : a < b ? -direction : direction;
  };
}
