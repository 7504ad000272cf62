import { describe, expect, it } from 'vitest';
import { html, Markup } from '../../../src/report/html/markup.js';
import { page } from '../../../src/report/html/page.js';
import { TERMS, termsIn } from '../../../src/report/html/terms.js';

const names = (text: string) => termsIn(text).map(({ term }) => term);

describe('terms', () => {
  it('are those that a text uses', () => {
    expect(names('Goodput of 12 req/s at an SLO of 5 ms')).toEqual(['SLO', 'goodput']);
    expect(names('p99.9 never; attained 97 %')).toEqual(['attainment', 'p99']);
    expect(names('Deploy schedule_ahead = 4 ms')).toEqual(['schedule_ahead']);
    expect(names('What was loaded and inferred')).toEqual([]);
  });

  it('are all found by their own names', () => {
    for (const { term } of TERMS) expect(names(term)).toContain(term);
  });

  it('end a page that uses them', () => {
    const text = page('run', html`<p class="window">Goodput</p>`, false);
    expect(text).toContain('<dt>goodput</dt><dd>answers within their SLO, per second</dd>');
    expect(text).not.toContain('<dt>window</dt>');
    expect(page('run', html`<p>Nothing.</p>`, false)).not.toContain('class="terms"');
  });

  it('are not looked for in data', () => {
    const data = new Markup('<script type="application/json">{"title":"goodput"}</script>');
    expect(page('run', data, false)).not.toContain('class="terms"');
  });
});
