import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NamedChart } from '../charts/chart-sets.js';
import type { ChartMeta, ChartSpec } from '../charts/theme.js';
import type { Block, CellText, Document, Section, Table } from '../document.js';
import { CLIENT } from './client.js';
import { html, Markup, scriptJson } from './markup.js';
import { renderSvg, toVega } from './render.js';
import { STYLE } from './style.js';
import { TERMS } from './terms.js';

/** A chart in a page without its heading, which wraps, with its picture for readers without scripts. */
interface PageChart extends NamedChart {
  readonly plot: ChartSpec;
  readonly svg: string;
}

export async function drawCharts(charts: readonly NamedChart[]): Promise<PageChart[]> {
  const drawn: PageChart[] = [];
  for (const chart of charts) {
    const { title: _, ...plot } = chart.spec;
    drawn.push({ ...chart, plot: plot as ChartSpec, svg: await renderSvg(plot as ChartSpec) });
  }
  return drawn;
}

/** One self-contained HTML document: style, script, data and charts inside, nothing fetched. */
export function page(title: string, body: Markup, withCharts: boolean): string {
  const scripts = withCharts
    ? html`<script>${new Markup(vegaBundle())}</script>\n<script>${new Markup(CLIENT)}</script>`
    : '';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<main>
${body}
${glossary()}</main>
<div id="tip" role="tooltip"></div>
${scripts}
</body>
</html>
`.text;
}

/** Explanations of terms, folded away. */
function glossary(): Markup {
  const entries = Object.entries(TERMS).map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>\n`);
  return html`<details class="terms"><summary>Terms</summary><dl>
${entries}</dl></details>
`;
}

/** All charts of a page, with a note on how to interact with them. */
function gallery(charts: readonly PageChart[]): Markup {
  return html`${charts.map(figure)}<p class="small hint">Hover over a mark for its figures. In charts over time: drag to pan, Ctrl + wheel to zoom, double-click to reset.</p>`;
}

/** A figure that starts as a picture and becomes live with scripts. It scrolls before it gets unreadable. */
function figure({ name, spec, plot, svg }: PageChart): Markup {
  const id = `chart-${name}`;
  const label = spec.description ?? name;
  const { text } = spec.title as unknown as { readonly text: string };
  const { subtitle } = spec.usermeta as ChartMeta;
  const width = /<svg[^>]* width="([\d.]+)"/.exec(svg)?.[1] ?? '600';
  return html`<figure data-chart="${id}">
<figcaption><strong>${text}</strong> ${subtitle}</figcaption>
<div class="scroller" tabindex="0" role="region" aria-label="Chart: ${name}">
<div class="picture" role="img" aria-label="${label}" style="--natural:${width}px"><div class="static">${new Markup(ownIds(transparent(svg), id))}</div><div class="interactive"></div></div>
</div>
<script type="application/json" id="${id}">${scriptJson({ ...toVega(plot), background: 'transparent' })}</script>
</figure>
`;
}

/** Lets the page's ground show through, so that dark pages have dark charts. */
function transparent(svg: string): string {
  return svg.replace(/(<rect [^>]*)fill="#ffffff"/, '$1fill="none"');
}

/** Makes the names of clip paths unique among the pictures of a document. */
function ownIds(svg: string, prefix: string): string {
  return svg.replace(/ id="/g, ` id="${prefix}-`).replace(/url\(#/g, `url(#${prefix}-`);
}

/** Vega for the browser, from the installed package; charts are already compiled, so Vega-Lite is not needed. */
function vegaBundle(): string {
  const build = dirname(fileURLToPath(import.meta.resolve('vega')));
  return readFileSync(join(build, 'vega.min.js'), 'utf8')
    .replace(/<\/script/gi, '<\\/script')
    .replace(/\n\/\/# sourceMappingURL=.*\s*$/, '');
}

/** A report as one HTML document. */
export function documentPage(document: Document, charts: readonly PageChart[]): string {
  const { kind, title, lead, sections } = document;
  const isShown = (block: Block) =>
    'text' in block ? block.only !== 'terminal' : !('charts' in block) || charts.length > 0;
  const body = html`<header>
<p class="kind">${kind}</p>
<h1>${title}</h1>
${lead.map((line) => html`<p>${line.replace(/\.?$/, '.')}</p>\n`)}</header>
${sections
  .filter(({ only }) => only !== 'terminal')
  .map((section) => ({ ...section, blocks: section.blocks.filter(isShown) }))
  .filter(({ blocks }) => blocks.length > 0)
  .map((section) => sectionMarkup(section, charts))}`;
  return page(`${kind}: ${title}`, body, charts.length > 0);
}

function sectionMarkup({ title, blocks }: Section, charts: readonly PageChart[]): Markup {
  const content = html`${blocks.map((block) => html`${blockMarkup(block, charts)}\n`)}`;
  return title === '' ? content : html`<section><h2>${title}</h2>\n${content}\n</section>\n`;
}

function blockMarkup(block: Block, charts: readonly PageChart[]): Markup {
  if ('text' in block) return html`<p class="${block.tone ?? ''}">${block.text}</p>`;
  if ('table' in block) return tableMarkup(block.table);
  if ('list' in block) {
    const columns = [{ title: 'Figure' }, { title: 'Value', wraps: true }];
    return tableMarkup({ columns, rows: block.list.map((row) => row.map((text) => ({ text }))) });
  }
  if ('code' in block)
    return html`<pre tabindex="0" role="region" aria-label="Text to copy"><code>${block.code}</code></pre>`;
  if ('charts' in block) return gallery(charts);
  const inner = block.blocks.map((each) => html`${blockMarkup(each, charts)}\n`);
  return html`<details><summary>${block.details}</summary>\n${inner}</details>`;
}

/** A table that scrolls in its own box. */
function tableMarkup({ columns, rows, sortable = false }: Table): Markup {
  const kind = (i: number) => (columns[i]?.numeric ? 'n' : columns[i]?.wraps ? 't wrap' : 't');
  const label = columns.map(({ title }) => title).filter((title) => title !== '');
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table: ${label.join(', ')}"><table${sortable ? html` class="sortable"` : ''}>
<thead><tr>${columns.map(({ title }, i) => html`<th scope="col" class="${kind(i)}">${title}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map((cell, i) => tableCell(cell, kind(i)))}</tr>\n`)}</tbody></table></div>`;
}

function tableCell({ text, sort, strong, underlined }: CellText, kind: string): Markup {
  const by = sort === undefined ? '' : html` data-sort="${sort}"`;
  const content = underlined ? html`<u>${text}</u>` : text;
  return html`<td class="${kind}"${by}>${strong ? html`<strong>${content}</strong>` : content}</td>`;
}
