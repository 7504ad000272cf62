import { formatCount, formatMs, formatPercent, formatRate } from '../text/numbers.js';
/** A report, described once: as a page (`html/document-page.ts`) and for the terminal (`terminal/document-text.ts`). */
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
  /** Left out of prints. */
  readonly isAppendix?: boolean;
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
