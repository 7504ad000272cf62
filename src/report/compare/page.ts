import { html, type Markup } from '../html/markup.js';
import type { PageChart } from '../html/page.js';
import { gallery, page } from '../html/page.js';
import { section, table } from '../html/parts.js';
import type { ComparedFigure, ComparedRun, Comparison } from './compare.js';
import { differenceText, relativeText, valueText } from './format.js';
import { saysSomething } from './text.js';

/** A comparison as one HTML document. */
export function comparisonPage(comparison: Comparison, charts: readonly PageChart[]): string {
  const { runs, warnings, figures } = comparison;
  const title = runs.map(({ name }) => name).join(' · ');
  const body = html`<header>
<p class="kind">escapement comparison</p>
<h1>${title}</h1>
<p>${finding(comparison)}</p>
</header>
${warnings.map((warning) => html`<p class="alert">${warning}</p>\n`)}
${section('Charts', gallery(charts))}
${section('Figures', figuresTable(runs, figures.filter(saysSomething)))}
${section('Runs', runsTable(runs))}`;
  return page(`Comparison: ${title}`, body, charts.length > 0);
}

/** `fifo against clockwork: goodput -32 %, p99 latency +120 %. …` */
function finding({ runs, figures }: Comparison): string {
  const shown = ['goodputRps', 'p50', 'p99'].map((wanted) => figures.find(({ name }) => name === wanted)!);
  return runs
    .slice(1)
    .map(({ name }, i) => {
      const changes = shown.map((figure) => `${figure.label} ${relativeText(figure, i + 1)}`);
      return `${name} against ${runs[0]!.name}: ${changes.join(', ')}.`;
    })
    .join(' ');
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
  const columns = ['Run', 'Experiment', 'Policy', 'Seed', 'Decision digest', 'Overrides'];
  return table(
    columns.map((title) => ({ title })),
    runs.map(({ name, experiment, policy, seed, digest, overrides }) =>
      [name, experiment, policy, String(seed), digest, overrides.join(', ') || '–'].map((text) => ({ text })),
    ),
  );
}
