import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../snippets.js';
import { PAGES } from './pages.js';

it('builds, with a page for each of the documentation and of the library', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', 'docs'], { cwd: ROOT, encoding: 'utf8' });
  expect(status, stdout + stderr).toBe(0);
  const built = (page: string) => existsSync(join(ROOT, 'docs/.vitepress/dist', page));
  const pages = PAGES.filter(({ path }) => !['README.md', 'docs/README.md'].includes(path)).map(({ path }) =>
    path.replace('docs/', '').replace('README.md', 'index.md').replace('.md', '.html'),
  );
  const others = ['index.html', 'contents.html', 'contributing.html', 'api/core/classes/Controller.html'];
  expect([...pages, ...others].filter((page) => !built(page))).toEqual([]);
});
