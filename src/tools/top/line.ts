import { cut, widthOf } from './cells.js';

/** Select Graphic Rendition codes (ECMA-48) with and without colours. */
const STYLES = {
  plain: ['', ''],
  bold: ['1', '1'],
  dim: ['90', ''],
  label: ['36', ''],
  good: ['32', ''],
  warn: ['33', ''],
  bad: ['1;31', '1'],
  exec: ['32', ''],
  weights: ['36', ''],
  cache: ['33', ''],
  heading: ['30;42', '7'],
  sorted: ['30;46', '1;7'],
  alarm: ['1;37;41', '7'],
} as const;
export type Style = keyof typeof STYLES;

/** `plain` is for files and pipes, `mono` for terminals whose owner wants no colours. */
export type Paint = 'colour' | 'mono' | 'plain';

export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** One line of the screen. Texts are printable. */
export type Line = readonly Span[];

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style };
}

export function lineWidth(line: Line): number {
  return line.reduce((width, { text }) => width + widthOf(text), 0);
}

/** At most `columns` cells of a line. */
export function cutLine(line: Line, columns: number): Line {
  const kept: Span[] = [];
  let left = columns;
  for (const { text, style } of line) {
    if (left <= 0) break;
    const short = cut(text, left);
    kept.push({ text: short, style });
    left -= widthOf(short);
  }
  return kept;
}

/** Exactly `columns` cells, filled up with blanks. */
export function fillLine(line: Line, columns: number, style: Style = 'plain'): Line {
  const short = cutLine(line, columns);
  return [...short, span(' '.repeat(columns - lineWidth(short)), style)];
}

/** `left` at the left and `right` at the right end of a line; where both do not fit, `right` stays whole. */
export function spread(left: Line, right: Line, columns: number, style: Style = 'plain'): Line {
  const end = cutLine(right, columns);
  return [...fillLine(left, columns - lineWidth(end), style), ...end];
}

export function paintLine(line: Line, paint: Paint): string {
  return line.map((each) => paintSpan(each, paint)).join('');
}

function paintSpan({ text, style }: Span, paint: Paint): string {
  const code = paint === 'plain' ? '' : STYLES[style][paint === 'colour' ? 0 : 1];
  return code === '' || text === '' ? text : `\u001b[${code}m${text}\u001b[0m`;
}
