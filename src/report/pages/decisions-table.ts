import type { FleetOverTime } from '../../record/results.js';
import { formatCount } from '../../text/numbers.js';
import { html, type Markup } from '../html/markup.js';
import { table } from '../html/parts.js';

/** More would make the page long. */
const MOST_DECISIONS = 200;

/** Changes of a scaler's wanted number of GPUs, with reasons. */
export function decisionsTable({ kinds, decisions }: Pick<FleetOverTime, 'kinds' | 'decisions'>): Markup {
  if (decisions.length === 0) return html``;
  const columns = [
    { title: 'At, s', numeric: true },
    ...kinds.map((name) => ({ title: name, numeric: true })),
    { title: 'Why so many GPUs', wraps: true },
  ];
  const rows = decisions
    .slice(0, MOST_DECISIONS)
    .map(({ atSeconds, gpus, reason }) => [
      { text: formatCount(atSeconds), sort: atSeconds },
      ...gpus.map((count) => ({ text: String(count) })),
      { text: reason },
    ]);
  const left = decisions.length - rows.length;
  return html`\n<details><summary>All ${formatCount(decisions.length)} times that it wanted another number of GPUs, and why</summary>
${table(columns, rows)}${left > 0 ? html`\n<p class="small">${formatCount(left)} more are in run.json.</p>` : ''}</details>`;
}
