import { cpSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig, type MarkdownOptions } from 'vitepress';

/** The whole repository is the source: guides that lie next to the code are pages, too. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where pages from outside of docs/ appear on the site. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'CONTRIBUTING.md': 'contributing.md',
  'src/policies/README.md': 'concepts/policies.md',
  'src/bounds/README.md': 'concepts/upper-bounds.md',
  'src/live/README.md': 'concepts/live-mode.md',
  'traces/README.md': 'reference/traces.md',
  'experiments/live/README.md': 'validation/live-mode.md',
  'experiments/policies/README.md': 'validation/schedulers.md',
  'docs/README.md': 'contents.md',
};

/** The profile of small playgrounds. */
const RESNET50 = 'experiments/profiles/resnet50_v2.clockwork-sim.v100.json';

/** Files that pages link to and that are no pages themselves; they are copied into the site. */
const linkedFiles = new Set<string>();

/** The page of the site that a file of the repository becomes; null: none. */
function pageOf(file: string): string | null {
  if (!file.endsWith('.md') || !existsSync(join(ROOT, file))) return null;
  if (file in ELSEWHERE) return ELSEWHERE[file] as string;
  return file.startsWith('docs/') ? file.slice('docs/'.length).replace(/README\.md$/, 'index.md') : null;
}

/** Text files get a name that browsers show instead of downloading them. */
function copyOf(file: string): string {
  return `files/${file}${/\.(?:png|svg|json|txt)$/.test(file) ? '' : '.txt'}`;
}

/** The same anchors as code hosts. */
function slugify(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Turns links between files of the repository into links between pages of the site. */
const repositoryLinks: NonNullable<MarkdownOptions['config']> = (md) => {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const source = posix.relative(ROOT, env.realPath ?? env.path);
    const from = posix.dirname(pageOf(source) ?? source);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(?:[a-z]+:|#)/.test(href)) continue;
      const [path, anchor] = href.split('#') as [string, string?];
      const file = posix.join(posix.dirname(source), decodeURI(path)).replace(/\/$/, '');
      const page = pageOf(file);
      if (page !== null) {
        token.attrSet('href', `/${page}${anchor === undefined ? '' : `#${anchor}`}`);
      } else if (existsSync(join(ROOT, file)) && statSync(join(ROOT, file)).isFile()) {
        linkedFiles.add(file);
        token.attrSet('href', posix.relative(from, copyOf(file)));
        token.attrSet('target', '_blank');
      } else if (existsSync(join(ROOT, file))) {
        // A folder: code hosts list it, the site has nothing to show.
        token.tag = 'span';
        token.attrs = null;
      }
    }
    for (const { children } of tokens) closeSpans(children ?? []);
  });
};

function closeSpans(tokens: { type: string; tag: string }[]): void {
  let tag = 'a';
  for (const token of tokens) {
    if (token.type === 'link_open') tag = token.tag;
    if (token.type === 'link_close') token.tag = tag;
  }
}

/** The contents page, docs/README.md, is the sidebar: a group for each heading, a page for each item. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const [, ...sections] = readFileSync(join(ROOT, 'docs/README.md'), 'utf8').split(/^## /m);
  const groups = sections.map((section) => ({
    text: section.split('\n')[0] as string,
    collapsed: false,
    items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text, link]) => ({
      text: text as string,
      link: `/${pageOf(posix.join('docs', link as string))}`,
    })),
  }));
  return [
    { text: 'Overview', link: '/' },
    ...groups,
    { text: 'Library', collapsed: false, items: library() },
  ];
}

/** A page for each import, as TypeDoc has written them. */
function library(): DefaultTheme.SidebarItem[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
  return Object.keys(exports)
    .filter((path) => path !== './package.json')
    .map((path) => ({
      text: path.replace('.', 'escapement'),
      link: `/api/${path === '.' ? 'index' : path.slice(2)}/modules`,
    }));
}

export default defineConfig({
  title: 'escapement',
  description: 'Serve more models than fit into GPU memory, within a latency SLO for every request',
  srcDir: '..',
  srcExclude: ['out/**', 'test/**', 'coverage/**', 'experiments/live/gpu/**', '**/node_modules/**'],
  rewrites: (page) => pageOf(page) ?? page,
  head: [
    [
      'link',
      {
        rel: 'icon',
        href: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path d='M2 3h9v3H2zM5 7h9v3H5zM2 11h6v3H2z' fill='%233451b2'/></svg>",
      },
    ],
  ],
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag === 'play-idea' } } },
  vite: {
    // What the bundle of the playground fills in, too.
    define: { RESNET50_PROFILE: JSON.stringify(readFileSync(join(ROOT, RESNET50), 'utf8')) },
    worker: { format: 'es' },
  },
  markdown: {
    anchor: { slugify },
    config: repositoryLinks,
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // Guides and reference come first: the library has hundreds of small pages that repeat their words.
          searchOptions: {
            boostDocument: (id: string) => (id.includes('/api/') ? 0.2 : 1),
          },
        },
      },
    },
    nav: [
      { text: 'Tutorial', link: '/tutorials/first-simulation' },
      { text: 'Deploy', link: '/how-to/deploy' },
      { text: 'Reference', link: '/reference/commands' },
      { text: 'All pages', link: '/contents' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    footer: { message: 'Apache-2.0' },
  },
  buildEnd: ({ outDir }) => {
    for (const file of linkedFiles) {
      const to = join(outDir, copyOf(file));
      cpSync(join(ROOT, file), to, { recursive: true });
    }
  },
});
