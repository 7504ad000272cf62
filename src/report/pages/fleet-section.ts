import type { SweepResults } from '../../record/results.js';
import { html, type Markup } from '../html/markup.js';
import { section, table } from '../html/parts.js';
import { fleetRows } from '../study/fleet-text.js';

/** Fleets by what they cost, where scalers were at work. */
export function fleetSection(results: SweepResults): Markup {
  const [head, ...rows] = fleetRows(results);
  if (head === undefined) return html``;
  return section(
    'Fleets by cost',
    table(
      head.map((title, i) => ({ title, numeric: i > 0 })),
      rows.map((row) => row.map((text) => ({ text }))),
    ),
  );
}
