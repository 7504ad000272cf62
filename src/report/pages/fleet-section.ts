import { fleetRows } from '../fleet-text.js';
import type { RankedFleet } from '../fleets.js';
import { html, type Markup } from '../html/markup.js';
import { section, table } from '../html/parts.js';

/** Fleets by cost, if scalers were at work. */
export function fleetSection(fleets: readonly RankedFleet[]): Markup {
  const [head, ...rows] = fleetRows(fleets);
  if (head === undefined) return html``;
  return section(
    'Fleets by cost',
    table(
      head.map((title, i) => ({ title, numeric: i > 0 })),
      rows.map((row) => row.map((text) => ({ text }))),
    ),
  );
}
