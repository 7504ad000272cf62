import type { CellText, Column } from '../document.js';
import { html, type Markup } from './markup.js';

/** A table that scrolls in its own box; `sortable`: a click on a heading sorts it. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly CellText[])[],
  sortable = false,
): Markup {
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

interface Fact {
  readonly label: string;
  readonly value: string;
  readonly note: string;
}

/** Headline figures side by side. */
export function facts(list: readonly Fact[]): Markup {
  return html`<dl class="facts">${list.map(
    ({ label, value, note }) =>
      html`<div><dt>${label}</dt><dd>${value}</dd><dd class="note">${note}</dd></div>`,
  )}</dl>`;
}

export function section(title: string, body: Markup): Markup {
  return html`<section><h2>${title}</h2>\n${body}\n</section>\n`;
}

/** A verbatim block of text to copy. */
export function code(text: string): Markup {
  return html`<pre tabindex="0" role="region" aria-label="Text to copy"><code>${text}</code></pre>`;
}

/** Instructions to repeat it: the command, and the experiment as written. */
export function experimentToRun(experiment: string, command: string): Markup {
  return html`<p>Save the experiment below as <code>experiment.yaml</code> in a folder where its relative paths are valid, and run</p>
${code(command)}
<h3>The experiment as written</h3>
${code(experiment)}`;
}
