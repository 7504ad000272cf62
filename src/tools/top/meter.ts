import { padStart } from './cells.js';
import { type Line, type Span, type Style, span } from './line.js';

const BLOCKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** `[||||||||     61%]` in `width` cells, at least 2: how much of something is used. */
export function meter(share: number, width: number, style: Style): Line {
  const room = Math.max(0, width - 2);
  const full = Math.round(Math.min(1, Math.max(0, share)) * room);
  const figure = `${Math.round(share * 100)}%`;
  const text = padStart(figure.length > room ? '' : figure, room);
  const inner = [...text].map((letter, i) => (letter === ' ' && i < full ? '|' : letter)).join('');
  return [
    span('[', 'bold'),
    span(inner.slice(0, full), style),
    span(inner.slice(full), 'dim'),
    span(']', 'bold'),
  ];
}

/** A meter of something that is not there. */
export function emptyMeter(text: string, width: number): Line {
  const room = Math.max(0, width - 2);
  return [span('[', 'bold'), span(padStart(text, room), 'bad'), span(']', 'bold')];
}

/** Height of one value, from 0 to 1, as a block; the lowest also for nothing. */
export function block(share: number): string {
  return BLOCKS[Math.min(BLOCKS.length - 1, Math.max(0, Math.round(share * BLOCKS.length) - 1))];
}

export interface Bar {
  /** From 0 to 1. */
  readonly share: number;
  readonly style: Style;
}

/** Bars side by side, one cell wide and `height` lines high; the first line is the top. */
export function bars(values: readonly Bar[], height: number): Line[] {
  return Array.from({ length: height }, (_, line) =>
    values.map(({ share, style }): Span => {
      const eighths = Math.round(share * height * BLOCKS.length) - (height - 1 - line) * BLOCKS.length;
      if (eighths <= 0) return span(' ', style);
      return span(BLOCKS[Math.min(BLOCKS.length, eighths) - 1], style);
    }),
  );
}
