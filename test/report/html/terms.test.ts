import { expect, it } from 'vitest';
import { html } from '../../../src/report/html/markup.js';
import { page } from '../../../src/report/html/page.js';

it('ends every page with the meaning of terms, folded away', () => {
  expect(page('run', html`<p>Nothing.</p>`, false)).toMatch(
    /<details class="terms">.*<dt>goodput<\/dt><dd>answers within their SLO, per second<\/dd>/s,
  );
});
