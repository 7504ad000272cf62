import type { Block, Document } from '../document.js';
import { html, type Markup } from './markup.js';
import { gallery, type PageChart, page } from './page.js';
import { code, section, table } from './parts.js';

/** A report as one HTML document. */
export function documentPage(document: Document, charts: readonly PageChart[]): string {
  const { kind, title, lead, sections } = document;
  const body = html`<header>
<p class="kind">${kind}</p>
<h1>${title}</h1>
${lead.map((line) => html`<p>${line.replace(/\.?$/, '.')}</p>\n`)}</header>
${sections
  .filter(({ only, blocks }) => only !== 'terminal' && blocks.length > 0)
  .map((one) => {
    const content = html`${one.blocks.map((block) => html`${blockMarkup(block, charts)}\n`)}`;
    return one.title === '' ? content : section(one.title, content);
  })}`;
  return page(`${kind}: ${title}`, body, charts.length > 0);
}

function blockMarkup(block: Block, charts: readonly PageChart[]): Markup {
  if ('text' in block && block.only === 'terminal') return html``;
  if ('text' in block) return html`<p class="${block.tone ?? ''}">${block.text}</p>`;
  if ('table' in block) return table(block.table.columns, block.table.rows, block.table.sortable);
  if ('list' in block) {
    const columns = [{ title: 'Figure' }, { title: 'Value', wraps: true }];
    return table(
      columns,
      block.list.map((row) => row.map((text) => ({ text }))),
    );
  }
  if ('code' in block) return code(block.code);
  if ('charts' in block) return gallery(charts);
  const inner = block.blocks.map((each) => html`${blockMarkup(each, charts)}\n`);
  return html`<details><summary>${block.details}</summary>\n${inner}</details>`;
}
