import { printable } from '../../base/printable.js';

/** Text that is HTML already. All other text is escaped on its way into a page. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | readonly Content[];

/** Builds HTML from a template: inserted values are escaped, unless built with `html` themselves. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(parts.reduce((text, part, i) => text + render(contents[i - 1] as Content) + part));
}

function render(content: Content): string {
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(render).join('');
  return escapeText(String(content));
}

function escapeText(text: string): string {
  return printable(text, '\n\t').replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** A value as JSON for a script element: no text in it can close the element. */
export function scriptJson(value: unknown): Markup {
  return new Markup(JSON.stringify(value).replace(/</g, '\\u003c'));
}
