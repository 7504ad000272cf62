import { fleetVerdict } from '../fleet-text.js';
import type { RankedFleet } from '../fleets.js';
import { html } from '../html/markup.js';
import { gallery, type PageChart, page } from '../html/page.js';
import { section } from '../html/parts.js';
import { senderFigures } from '../senders.js';
import { fleetSection } from './fleet-section.js';
import { senderSections } from './sender-sections.js';

/** A comparison of fleets as one HTML document. */
export function fleetsPage(
  name: string,
  fleets: readonly RankedFleet[],
  charts: readonly PageChart[],
): string {
  const body = html`<header>
<p class="kind">escapement fleet comparison</p>
<h1>${name}</h1>
</header>
<p class="finding">${fleetVerdict(fleets)}</p>
${section('GPU-hours and attainment', gallery(charts))}
${fleetSection(fleets)}
<p class="small">On the frontier: no other fleet pays for less and answers as many in time, or answers more and pays for as little.</p>
${senderSections(senderFigures([{ results: fleets }]), {
  title: 'Fleet',
  rows: fleets.map((fleet) => ({ name: fleet.name, strong: false })),
  means: 'Means over the seeds of each fleet.',
  weights: 'The ranking of fleets counts every request alike.',
})}`;
  return page(`${name}: fleets`, body, charts.length > 0);
}
