import { printable } from './cells.js';
import { gpuLines } from './gpu-section.js';
import { minuteLines, rateLines, titleLine, totalLines } from './header.js';
import { helpLines } from './help.js';
import { cutLine, type Line, span, spread } from './line.js';
import { type ModelTable, modelTable } from './model-table.js';
import { senderLines } from './sender-table.js';
import { printableFeed, type StatusFeed } from './status-feed.js';
import type { Extent, ViewState } from './view-state.js';

interface ScreenSize {
  readonly columns: number;
  /** Infinity: as many as are needed. */
  readonly rows: number;
}

export interface Screen {
  /** At most `rows` lines of at most `columns` cells. */
  readonly lines: readonly Line[];
  readonly extent: Extent;
}

/** From so many rows on there is room for what is nice to have. */
const TALL_ROWS = 20;
const VERY_TALL_ROWS = 40;
/** Classes and tenants each have one of so many lines. */
const SENDER_PART = 6;
/** A heading and some models. */
const LEAST_TABLE_ROWS = 4;

/** What a terminal of that size shows: header, GPUs, models, and the keys on the last line. */
export function renderScreen(given: StatusFeed, view: ViewState, { columns, rows }: ScreenSize): Screen {
  const feed = printableFeed(given);
  const { status } = feed;
  const top = headerLines(feed, view, columns, rows);
  const room = rows - top.length - 1;
  const gpuRows = Math.max(2, Math.floor(Math.min(room * 0.5, room - LEAST_TABLE_ROWS)));
  const gpus = gpuLines(status, columns, gpuRows);
  const table = modelTable(status, view, columns, Math.max(1, room - gpus.length));
  const body = view.help ? [top[0], ...helpLines()] : [...top, ...gpus, ...table.lines];
  // The keys are shown on the last line of a terminal, and nowhere else.
  const hasFooter = Number.isFinite(rows);
  const most = Math.max(0, rows - (hasFooter ? 1 : 0));
  const above = body.slice(0, most);
  const filler = hasFooter ? Array.from({ length: most - above.length }, (): Line => []) : [];
  const footer = hasFooter ? [footerLine(feed, view, table, columns)] : [];
  return {
    lines: [...above, ...filler, ...footer].map((line) => cutLine(line, columns)),
    extent: table.extent,
  };
}

function headerLines(feed: StatusFeed, view: ViewState, columns: number, rows: number): Line[] {
  const { status } = feed;
  const minuteRows = rows >= VERY_TALL_ROWS && Number.isFinite(rows) ? 3 : 1;
  return [
    titleLine(feed, view, columns),
    ...rateLines(status, columns),
    ...minuteLines(status, columns, minuteRows),
    ...(rows >= TALL_ROWS ? totalLines(status, columns) : []),
    ...senderLines(status, columns, Math.max(2, Math.floor(rows / SENDER_PART))),
  ];
}

const KEYS: readonly (readonly [string, string])[] = [
  ['q', 'quit'],
  ['?', 'help'],
  ['s', 'sort'],
  ['r', 'reverse'],
  ['/', 'filter'],
  ['p', 'pause'],
  ['↑↓', 'scroll'],
];

function footerLine(
  { status }: StatusFeed,
  view: ViewState,
  { extent, scroll, lines }: ModelTable,
  columns: number,
): Line {
  const last = scroll + lines.length - 1;
  const others = status.otherModels === 0 ? '' : `, ${status.otherModels} others`;
  const where = extent.total === 0 ? 'no models' : `${scroll + 1}–${last} of ${extent.total} models`;
  const right = [span(` ${where}${others}`, 'dim')];
  if (view.typing) {
    return spread([span(' filter: ', 'label'), span(`${printable(view.filter)}_`, 'bold')], right, columns);
  }
  const filter = view.filter === '' ? [] : [span(`/${printable(view.filter)} `, 'warn')];
  const keys = KEYS.flatMap(([key, what]) => [span(key, 'bold'), span(`${what} `, 'sorted')]);
  return spread([...filter, ...keys], right, columns);
}
