import { expect, it } from 'vitest';
import { html, scriptJson } from '../../../src/report/html/markup.js';

it('data in a script never ends it, however often they try', () => {
  const data = { one: '</script><b>', two: ['<!--', '</script>'] };
  const { text } = scriptJson(data);
  expect(text).not.toContain('<');
  expect(JSON.parse(text)).toEqual(data);
});

it('what stands in a page is escaped, but for what is markup already', () => {
  const name = `<a href="x">'&'</a>`;
  expect(html`<p>${name}${html`<b>${1}</b>`}${['<', '>']}</p>`.text).toBe(
    '<p>&#60;a href=&#34;x&#34;&#62;&#39;&#38;&#39;&#60;/a&#62;<b>1</b>&#60;&#62;</p>',
  );
});
