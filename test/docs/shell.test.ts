import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../snippets.js';
import { commandsOf, PAGES } from './pages.js';

const FOLDER = join(ROOT, 'test/docs/shell');

it('runs the commands of every page: each has a test file in test/docs/shell', () => {
  const run = readdirSync(FOLDER).map(
    (name) => /runPage\('([^']+)'/.exec(readFileSync(join(FOLDER, name), 'utf8'))?.[1],
  );
  const pages = PAGES.filter((page) => commandsOf(page).length > 0).map(({ path }) => path);
  expect(run.sort()).toEqual(pages.sort());
});
