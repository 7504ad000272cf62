import { formatRate } from '../../text/numbers.js';
import { capital, listed, plural } from '../../text/words.js';
import { html, type Markup } from '../html/markup.js';
import { gallery, type PageChart, page } from '../html/page.js';
import { type CellText, section, table } from '../html/parts.js';
import { certaintyOf, type PolicyComparison } from '../policies/compare.js';
import { lossesOf } from '../policies/losses.js';
import type { CellOutcome } from '../policies/matrix.js';
import { tuningText } from '../policies/tuning.js';
import { valuesLabel } from '../quantity.js';
import { senderFigures } from '../senders.js';
import { meanOfKnown } from '../statistics.js';
import { methods } from './policies-methods.js';
import {
  byRowTable,
  cellsTable,
  conditionsTable,
  costsTable,
  lossesTable,
  overviewTable,
} from './policies-tables.js';
import { policyNotes } from './policy-notes.js';
import { senderSections } from './sender-sections.js';

/** A comparison of policies as one HTML document. */
export function policiesPage(
  comparison: PolicyComparison,
  charts: readonly PageChart[],
  version: string,
): string {
  const { policies, ours, warnings, conditions, costs, failed, sweeps, tuning } = comparison;
  const [name] = sweeps.map(({ results }) => results.name);
  const losses = lossesOf(comparison);
  const body = html`<header>
<p class="kind">escapement policy comparison · ${name}</p>
<h1>${titleOf(comparison)}</h1>
<p>${question(comparison)}</p>
</header>
${warnings.map((warning) => html`<p class="alert">${warning}</p>\n`)}
${policyNotes(summariesOf(comparison))}${section('All cells', html`${overviewTable(comparison)}<p class="small">${capital(certaintyOf(comparison))}.</p>${tuning.map((gap) => html`<p class="small">${tuningText(gap)}.</p>`)}`)}
${senderSections(senderFigures(comparison.cells), {
  title: 'Policy',
  rows: policies.map((policy, i) => ({ name: policy.name, strong: i === ours })),
  means: 'Means over the cells that all policies finished.',
  weights: 'Everywhere else, goodput and bound count each request by the weight of its class.',
})}
${section('Goodput and rank', gallery(charts))}
${ours === null || losses.length === 0 ? '' : section(`Where ${policies[ours]!.name} is beaten`, lossesTable(comparison))}
${conditions.length === 0 ? '' : section('Does the ranking hold under other conditions?', html`${conditionsTable(comparison)}<p class="small">Rank by mean over the cells of each condition, with the mean in brackets. τ is 1 if all policies keep their order, and −1 if the order is reversed.</p>`)}
${section('Every cell', html`${cellsTable(comparison)}<p class="small">Bold: highest mean. Underlined: unbeaten.</p>`)}
${fairnessSection(comparison)}
${section('LOADs per second', html`${byRowTable(comparison, loadsCell)}<p class="small">Mean over the cells of each row.</p>`)}
${costs.length === 0 ? '' : section('Cost of a request', html`${costsTable(comparison)}<p class="small">Wall time of whole simulated runs on one thread, divided by requests, and relative to clockwork.</p>`)}
${failed.length === 0 ? '' : section('Failed runs', failedTable(comparison))}
${section('Methods', methods(comparison, version))}`;
  return page(`${name}: ${titleOf(comparison)}`, body, charts.length > 0);
}

function question({ axes, bounded, policies }: PolicyComparison): string {
  const of = bounded ? 'what any scheduler could have served' : 'the offered load';
  const list = axes.map(({ label, values }) => `${label} (${values.length})`);
  const over = list.length === 0 ? '' : ` in every combination of ${listed(list)}`;
  return `How much of ${of} do ${policies.length} policies serve within the SLO${over}?`;
}

function titleOf({ policies, completeCells }: PolicyComparison): string {
  const kinds = new Set(policies.map(({ kind }) => kind));
  return `${kinds.size} scheduling policies in ${plural(completeCells, 'cell')}`;
}

function summariesOf({ sweeps }: PolicyComparison) {
  return sweeps.flatMap(({ results: { cells } }) =>
    cells.flatMap((cell) => (cell.status === 'done' ? cell.result.summary : [])),
  );
}

function fairnessSection(comparison: PolicyComparison): Markup {
  const known = comparison.policies.some(({ worstModel }) => worstModel !== null);
  if (!known) return html``;
  return section(
    'Fairness between models',
    html`${byRowTable(comparison, fairnessCell)}<p class="small">Attainment of the worst-served model divided by attainment over all requests: the lowest of the cells in each row. In brackets: the number of cells in which some model is below half.</p>`,
  );
}

function fairnessCell(results: readonly CellOutcome[]): CellText {
  const worst = results.flatMap(({ worstModel }) => worstModel ?? []);
  if (worst.length === 0) return { text: '–' };
  const below = results.filter(({ belowHalf }) => belowHalf === true).length;
  return { text: `${Math.min(...worst).toFixed(2)}${below === 0 ? '' : ` (${below})`}` };
}

function loadsCell(results: readonly CellOutcome[]): CellText {
  return { text: formatRate(meanOfKnown(results.map(({ loadsPerS }) => loadsPerS))) };
}

function failedTable({ failed }: PolicyComparison): Markup {
  const columns = [{ title: 'Combination' }, { title: 'Seed', numeric: true }, { title: 'Message' }];
  return table(
    columns,
    failed.map(({ values, seed, code, message }) => [
      { text: valuesLabel(values) },
      { text: String(seed) },
      { text: `${code}: ${message}` },
    ]),
  );
}
