import type { Block, CellText, Document, Section, Table } from '../document.js';
import { html, type Markup } from './markup.js';
import { gallery, type PageChart, page } from './page.js';

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

function sectionMarkup({ title, blocks, isAppendix = false }: Section, charts: readonly PageChart[]): Markup {
  const content = html`${blocks.map((block) => html`${blockMarkup(block, charts)}\n`)}`;
  return title === ''
    ? content
    : html`<section${isAppendix ? html` class="appendix"` : ''}><h2>${title}</h2>\n${content}\n</section>\n`;
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
