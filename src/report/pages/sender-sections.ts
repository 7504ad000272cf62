import { html, type Markup } from '../html/markup.js';
import { type CellText, section, table } from '../html/parts.js';
import { type SenderFigures, senderText } from '../senders.js';

/** Compared items, one per line of each table. */
interface Compared {
  /** `Policy` or `Fleet`. */
  readonly title: string;
  readonly rows: readonly { readonly name: string; readonly strong: boolean }[];
  /** Sentence on the population of the means. */
  readonly means: string;
  /** Note on weights elsewhere on the page; may be empty. */
  readonly weights: string;
}

/** Results of each class, then of each tenant: a section for each, with one table per figure; may be empty. */
export function senderSections(all: readonly SenderFigures[], compared: Compared): Markup {
  const { means, weights } = compared;
  const gpuTime = 'GPU time is that of INFERs, which the requests of a batch share evenly.';
  const readings = {
    classes: weights,
    tenants: 'A tenant that asks for less than its share gets less, and leaves the rest to others.',
  };
  return html`${all.map((one) => {
    const text = [means, gpuTime, readings[one.kind]].filter((part) => part !== '').join(' ');
    const title = one.kind === 'classes' ? 'Classes' : 'Tenants';
    return section(title, html`${tablesOf(one, compared)}<p class="small">${text}</p>`);
  })}`;
}

function tablesOf({ names, figures }: SenderFigures, { title: head, rows: compared }: Compared): Markup {
  return html`${figures.map((figure) => {
    const { title, unit, values, promised } = figure;
    const line = (name: string, all: readonly (number | null)[], strong: boolean): CellText[] => [
      { text: name, strong },
      ...all.map((value) => ({ text: senderText(figure, value), sort: value ?? -1, strong })),
    ];
    const columns = [{ title: head }, ...names.map((name) => ({ title: name, numeric: true }))];
    const rows = [
      ...compared.map(({ name, strong }, i) => line(name, values[i]!, strong)),
      ...(promised === null ? [] : [line(`(${promised.name})`, promised.values, false)]),
    ];
    return html`<h3>${title}, ${unit}</h3>\n<div class="dense">${table(columns, rows, promised === null)}</div>\n`;
  })}`;
}
