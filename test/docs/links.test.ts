import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../snippets.js';
import { anchorsOf, linksOf } from './markdown.js';
import { PAGES, pageAt, readPage } from './pages.js';

/** Guides that lie next to what they explain. */
const GUIDES = [
  'CONTRIBUTING.md',
  'traces/README.md',
  'src/bounds/README.md',
  'src/live/README.md',
  'src/policies/README.md',
  'experiments/live/README.md',
  'experiments/policies/README.md',
].map(readPage);

describe.each([...PAGES, ...GUIDES])('links of $path', ({ path, text }) => {
  it('lead to files and headings that exist', () => {
    const broken = linksOf(text).filter((link) => {
      if (/^https:/.test(link)) return false;
      const [to, heading] = link.split('#') as [string, string?];
      const file = to === '' ? join(ROOT, path) : join(ROOT, path, '..', to);
      if (!existsSync(file)) return true;
      return heading !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(`#${heading}`);
    });
    expect(broken).toEqual([]);
  });
});

it('docs/README.md lists every page and guide once', () => {
  const contents = pageAt('docs/README.md');
  const listed = linksOf(contents.text)
    .filter((link) => !/^https:|#/.test(link))
    .map((link) => relative(ROOT, join(ROOT, dirname(contents.path), link)));
  const all = [...PAGES, ...GUIDES].map(({ path }) => path);
  expect(listed.sort()).toEqual(all.filter((path) => path !== contents.path).sort());
});
