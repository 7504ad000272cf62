import { paintLine } from './line.js';
import { renderScreen } from './screen.js';
import type { StatusFeed } from './status-feed.js';
import { FIRST_VIEW } from './view-state.js';

/** One snapshot without a terminal: all GPUs and models, as lines without colours. */
export function plainText(feed: StatusFeed, columns: number): string {
  const { lines } = renderScreen(feed, FIRST_VIEW, { columns, rows: Number.POSITIVE_INFINITY });
  return lines.map((line) => `${paintLine(line, 'plain').trimEnd()}\n`).join('');
}
