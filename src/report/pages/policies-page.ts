import { formatRate } from '../format.js';
import { html, type Markup } from '../html/markup.js';
import { gallery, type PageChart, page } from '../html/page.js';
import { type CellText, section, table } from '../html/parts.js';
import { valuesLabel } from '../quantity.js';
import type { PolicyComparison } from './compare.js';
import { findingOf, question } from './finding.js';
import { lossesOf } from './losses.js';
import type { CellOutcome } from './matrix.js';
import { methods } from './methods.js';
import { byRowTable, cellsTable, conditionsTable, costsTable, lossesTable, overviewTable } from './tables.js';
import { tuningText } from './tuning.js';

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
<p class="finding">${findingOf(comparison)}</p>
${warnings.map((warning) => html`<p class="alert">${warning}</p>\n`)}
${section('All cells', html`${overviewTable(comparison)}${tuning.map((gap) => html`<p class="small">${tuningText(gap)}.</p>`)}`)}
${section('Goodput and rank', gallery(charts))}
${ours === null ? '' : section(`Where ${policies[ours]!.name} is not the best`, losses.length === 0 ? html`<p>In no cell is another policy better beyond doubt.</p>` : lossesTable(comparison))}
${conditions.length === 0 ? '' : section('Does the ranking hold under other conditions?', html`${conditionsTable(comparison)}<p class="small">Place by mean over the cells of each condition, with the mean. τ is 1 where all policies keep their order and -1 where it is reversed.</p>`)}
${section('Every cell', html`${cellsTable(comparison)}<p class="small">Bold: highest mean. Underlined: no policy is better beyond doubt. ± half of the 95 % confidence interval.</p>`)}
${fairnessSection(comparison)}
${section('LOADs per second', html`${byRowTable(comparison, loadsCell)}<p class="small">Mean over the cells of each row.</p>`)}
${costs.length === 0 ? '' : section('Cost of a request', html`${costsTable(comparison)}<p class="small">Wall time of whole simulated runs on one thread ÷ requests, and that relative to clockwork.</p>`)}
${failed.length === 0 ? '' : section('Failed runs', failedTable(comparison))}
${section('Methods', methods(comparison, version))}`;
  return page(`${name}: ${titleOf(comparison)}`, body, charts.length > 0);
}

function titleOf({ policies, completeCells }: PolicyComparison): string {
  const kinds = new Set(policies.map(({ kind }) => kind));
  return `${kinds.size} scheduling policies in ${completeCells} ${completeCells === 1 ? 'cell' : 'cells'}`;
}

function fairnessSection(comparison: PolicyComparison): Markup {
  const known = comparison.policies.some(({ worstModel }) => worstModel !== null);
  if (!known) return html``;
  return section(
    'Fairness between models',
    html`${byRowTable(comparison, fairnessCell)}<p class="small">Attainment of the model that fares worst ÷ attainment over all requests, lowest of the cells of each row; in brackets the number of cells in which some model is below half.</p>`,
  );
}

function fairnessCell(results: readonly CellOutcome[]): CellText {
  const worst = results.flatMap(({ worstModel }) => worstModel ?? []);
  if (worst.length === 0) return { text: '–' };
  const below = results.filter(
    ({ modelsBelowHalf }) => modelsBelowHalf !== null && modelsBelowHalf > 0,
  ).length;
  return { text: `${Math.min(...worst).toFixed(2)}${below === 0 ? '' : ` (${below})`}` };
}

function loadsCell(results: readonly CellOutcome[]): CellText {
  if (results.length === 0) return { text: '–' };
  const sum = results.reduce((total, { loadsPerS }) => total + loadsPerS.mean, 0);
  return { text: formatRate(sum / results.length) };
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
