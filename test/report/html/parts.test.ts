import { describe, expect, it } from 'vitest';
import { html } from '../../../src/report/html/markup.js';
import { facts, section, table } from '../../../src/report/html/parts.js';

describe('a table of a page', () => {
  const columns = [{ title: 'Model' }, { title: 'p99', numeric: true }, { title: 'Note', wraps: true }];
  const page = table(
    columns,
    [[{ text: '<b>' }, { text: '9 ms', sort: 9e6, strong: true }, { text: 'x' }]],
    true,
  );

  it('names its columns for screen readers, and can be reached by keyboard', () => {
    expect(page.text).toContain('tabindex="0" role="region" aria-label="Table: Model, p99, Note"');
  });

  it('escapes its texts', () => {
    expect(page.text).toContain('<td class="t">&#60;b&#62;</td>');
  });

  it('sorts numbers by size, not by their text', () => {
    expect(page.text).toContain('<table class="sortable">');
    expect(page.text).toContain('<td class="n" data-sort="9000000"><strong>9 ms</strong></td>');
    expect(page.text).toContain('<th scope="col" class="t wrap">Note</th>');
    expect(table(columns, []).text).not.toContain('sortable');
  });

  it('underlines what is as good as the best', () => {
    const cell = table([{ title: 'a' }], [[{ text: '1', underlined: true }]]);
    expect(cell.text).toContain('<td class="t"><u>1</u></td>');
  });
});

it('facts are terms with a value and a note', () => {
  expect(facts([{ label: 'Goodput', value: '9 & 1', note: 'of 10' }]).text).toBe(
    '<dl class="facts"><div><dt>Goodput</dt><dd>9 &#38; 1</dd><dd class="note">of 10</dd></div></dl>',
  );
});

it('a section has its title as a heading', () => {
  expect(section('A <b>', html`<p>text</p>`).text).toBe(
    '<section><h2>A &#60;b&#62;</h2>\n<p>text</p>\n</section>\n',
  );
});
