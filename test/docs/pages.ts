import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../snippets.js';
import { type Fence, fencesOf } from './markdown.js';

/** A page of the documentation. */
export interface Page {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly fences: readonly Fence[];
}

/** README.md and the pages of docs/, without what is generated or installed there. */
export const PAGES: readonly Page[] = ['README.md', ...markdownIn('docs')].map(readPage);

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return { path, text, fences: fencesOf(text) };
}

/** The page at a path; throws if there is none. */
export function pageAt(path: string): Page {
  const page = PAGES.find((other) => other.path === path);
  if (page === undefined) throw new Error(`no page ${path}`);
  return page;
}

/** Blocks of commands that a reader runs: escapement's own, and scripts of the page. */
export function commandsOf({ fences }: Page): Fence[] {
  return fences.filter(({ language, code }) => language === 'sh' && /npx escapement|^python3 /m.test(code));
}

function markdownIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !(folder === 'docs' && name === 'api'))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return markdownIn(path);
      return entry.name.endsWith('.md') ? [path] : [];
    })
    .sort();
}
