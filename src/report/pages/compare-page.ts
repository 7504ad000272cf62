import { capital } from '../../text/words.js';
import type { ComparedFigure, ComparedRun, Comparison } from '../compare/compare.js';
import { differenceText, relativeText, valueText } from '../compare/format.js';
import { certaintyOf, saysSomething } from '../compare/text.js';
import { fleetVerdict } from '../fleet-text.js';
import { html, type Markup } from '../html/markup.js';
import type { PageChart } from '../html/page.js';
import { gallery, page } from '../html/page.js';
import { section, table } from '../html/parts.js';
import { fleetSection } from './fleet-section.js';

/** A comparison as one HTML document. */
export function comparisonPage(comparison: Comparison, charts: readonly PageChart[], notes: Markup): string {
  const { runs, headlines, warnings, figures, fleets } = comparison;
  const title = runs.map(({ name }) => name).join(' · ');
  const body = html`<header>
<p class="kind">escapement comparison</p>
<h1>${title}</h1>
${headlines.map(({ text, fairness }) => html`<p>${text}</p>\n${fairness === null ? '' : html`<p>${fairness.text}</p>\n`}`)}</header>
${warnings.map((warning) => html`<p class="alert">${warning}</p>\n`)}
${notes}${fleets.length === 0 ? '' : html`<p class="finding">${fleetVerdict(fleets)}</p>\n`}${fleetSection(fleets)}
${section('Charts', gallery(charts))}
${section(
  'Figures',
  html`<p>${capital(certaintyOf(figures))}.</p>
${figuresTable(runs, figures.filter(saysSomething))}`,
)}
${section('Runs', runsTable(runs))}`;
  return page(`Comparison: ${title}`, body, charts.length > 0);
}

function figuresTable(runs: readonly ComparedRun[], figures: readonly ComparedFigure[]): Markup {
  const columns = runs.flatMap(({ name }, i) => {
    const titles = i === 0 ? [name] : [name, 'difference', '%'];
    return titles.map((title) => ({ title, numeric: true }));
  });
  const rows = figures.map((figure) => [
    { text: figure.label },
    ...runs.flatMap((_, i) => [
      { text: valueText(figure, i) },
      ...(i === 0 ? [] : [{ text: differenceText(figure, i) }, { text: relativeText(figure, i) }]),
    ]),
  ]);
  return table([{ title: 'Figure' }, ...columns], rows);
}

function runsTable(runs: readonly ComparedRun[]): Markup {
  const columns = ['Run', 'Kind', 'Experiment', 'Policy', 'Seed', 'Decision digest', 'Overrides'];
  return table(
    columns.map((title) => ({ title })),
    runs.map(({ name, kind, experiment, policy, seed, digest, overrides }) =>
      [
        ...[name, kind, experiment, policy ?? '–', String(seed), digest ?? '–'],
        overrides.join(', ') || '–',
      ].map((text) => ({ text })),
    ),
  );
}
