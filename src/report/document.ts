import { formatCount, formatMs, formatPercent, formatRate } from '../text/numbers.js';
import { alignColumns } from '../text/table.js';
import { hanging } from '../text/terminal.js';
import { COLUMNS, wrap } from '../text/wrap.js';

/** A report, described once: as a page (`html/page.ts`) and for the terminal (`documentText`). */
export interface Document {
  /** Kind of the report and name of its subject, in small print above the title. */
  readonly kind: string;
  /** The answer in one line. */
  readonly title: string;
  /** Lines below it, each true by itself. */
  readonly lead: readonly string[];
  readonly sections: readonly Section[];
}

export interface Section {
  /** Heading on pages; the terminal has none. */
  readonly title: string;
  readonly blocks: readonly Block[];
  /** Where it is shown; absent: on pages and on terminals. */
  readonly only?: 'page' | 'terminal';
}

export type Block =
  | { readonly text: string; readonly tone?: 'alert' | 'small'; readonly only?: 'page' | 'terminal' }
  | { readonly table: Table }
  /** Names and values, a line each. */
  | { readonly list: readonly (readonly [name: string, value: string])[] }
  /** A verbatim text to copy. */
  | { readonly code: string }
  /** All charts of the report. */
  | { readonly charts: true }
  /** Folded away on a page. */
  | { readonly details: string; readonly blocks: readonly Block[] };

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly CellText[])[];
  /** A click on a heading sorts it. */
  readonly sortable?: boolean;
  /** A terminal shows all rows, however many. */
  readonly unlimited?: boolean;
  /** Rows that a terminal shows if it has no room for all; absent: the first ones. */
  readonly marked?: readonly boolean[];
}

export interface Column {
  readonly title: string;
  /** Numbers are right-aligned and sort by size. */
  readonly numeric?: boolean;
  /** Long texts, which may take several lines. */
  readonly wraps?: boolean;
  /** A terminal has no room for it. */
  readonly pageOnly?: boolean;
}

export interface CellText {
  readonly text: string;
  /** Sort key, if not the text. */
  readonly sort?: number;
  readonly strong?: boolean;
  /** Ties with the strong one. */
  readonly underlined?: boolean;
}

/** Cells of numbers, which sort by value; `–` comes first. */
export function numberCell(format: (value: number | null) => string) {
  return (value: number | null): CellText => ({ text: format(value), sort: value ?? -1 });
}

export const percentCell = numberCell(formatPercent);
export const rateCell = numberCell(formatRate);
export const msCell = numberCell(formatMs);
export const countCell = (value = 0): CellText => ({ text: formatCount(value), sort: value });

/** More rows of a table are in the report. */
const MAX_ROWS = 24;

/**
 * A report for the terminal: its sections, then the answer and what is known of it, next to the prompt. Sentences are
 * wrapped at `width`, tables cut at `columns`.
 */
export function documentText(
  { title, lead, sections }: Document,
  columns = Number.POSITIVE_INFINITY,
  width = COLUMNS,
): string {
  const blocks = sections.filter(({ only }) => only !== 'page').flatMap((section) => section.blocks);
  const [before, after] = [
    blocks.filter((block) => !('code' in block)),
    blocks.filter((block) => 'code' in block),
  ];
  const parts = [
    ...before.map((block) => blockLines(block, columns, width)),
    title === '' ? [] : [...wrap(title, width), ...lead.flatMap((line) => wrap(line, width))],
    ...after.map((block) => blockLines(block, columns, width)),
  ].filter((lines) => lines.length > 0);
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function blockLines(block: Block, columns: number, width: number): string[] {
  if ('text' in block) return block.only === 'page' ? [] : wrap(block.text, width);
  if ('table' in block) return tableLines(block.table, columns);
  if ('list' in block) return block.list.flatMap(([name, value]) => hanging(name, value, 10, width));
  return 'code' in block ? [block.code] : [];
}

/** Marked rows if there are too many, and a note on what is left out. */
function tableLines({ columns: all, rows, marked, unlimited = false }: Table, columns: number): string[] {
  const shown = all.map((_, i) => i).filter((i) => all[i]!.pageOnly !== true);
  const some = marked === undefined || !marked.includes(true) ? rows : rows.filter((_, i) => marked[i]);
  const isShort = unlimited || rows.length <= MAX_ROWS;
  const kept = isShort ? rows : some.slice(0, MAX_ROWS);
  const texts = [shown.map((i) => all[i]!.title), ...kept.map((row) => shown.map((i) => row[i]!.text))];
  const left = shown.flatMap((i, at) => (all[i]!.numeric === true ? [] : [at]));
  const lines = alignColumns(texts, left);
  const isCut = lines.some((line) => line.length > columns);
  const more = rows.length - kept.length;
  return [
    ...lines.map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line)),
    ...(more > 0 ? [`… ${more} more rows in the report`] : []),
    ...(isCut ? ['… wider than this terminal: the report has all columns'] : []),
  ];
}
