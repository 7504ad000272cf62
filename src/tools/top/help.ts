import { padEnd } from './cells.js';
import { type Line, type Style, span } from './line.js';
import { MODEL_COLUMNS } from './model-columns.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['↑ ↓ j k', 'scroll; also Page Up, Page Down, g, G'],
  ['s > S <', 'sort by the next or the previous column'],
  ['r', 'reverse the order'],
  ['/', 'show only models whose name contains the text; Esc: show all'],
  ['p', 'pause'],
  ['q', 'quit'],
];

/** What keys and columns mean; any key closes it. */
export function helpLines(): Line[] {
  return [
    ...KEYS.map(([keys, what]) => explained(keys, what, 'bold')),
    explained('EXEC …', 'share of the last 5 s in which the lane was busy'),
    explained('AHEADms', 'how far into the future the lanes of the GPU are booked'),
    ...MODEL_COLUMNS.filter(({ means }) => means !== '').map(({ label, means }) => explained(label, means)),
    [span(' Times of models are moving averages over about 10 s.', 'dim')],
  ];
}

function explained(what: string, means: string, style: Style = 'label'): Line {
  return [span(padEnd(` ${what}`, 10), style), span(means)];
}
