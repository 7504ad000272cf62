import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/*
 * Bundles the playground into one page that needs no network, dist/play/page.html: the page, its style, and the engine
 * as text, which the page starts in a worker. Its colors are those of reports. Its element `setup` is empty; the
 * command line fills it with an experiment. Also bundles the page of a running server, dist/play/ui, as separate files,
 * so that its policy needs no exception for inline code.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OUT = fileURLToPath(new URL('../../dist/play', import.meta.url));

const profile = readFileSync(
  join(HERE, '../../experiments/profiles/resnet50_v2.clockwork-sim.v100.json'),
  'utf8',
);
const JSX = { jsx: 'automatic', jsxImportSource: 'preact' };
const [page, engine, colors, layout, live] = await Promise.all([
  bundled('page/main.tsx', {
    define: { RESNET50_PROFILE: JSON.stringify(profile) },
    ...JSX,
  }),
  bundled('engine/worker.ts', {}),
  bundled('../report/colors.ts', { format: 'esm' }),
  bundled('page/style.css', {}),
  bundled('live/main.tsx', JSX),
]);
const { COLOR_STYLE } = await import(`data:text/javascript,${encodeURIComponent(colors)}`);
const style = COLOR_STYLE + layout;
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(page)} blob:`,
  'worker-src blob:',
  // Sizes are set by scripts, which do not count as inline style.
  `style-src ${hashOf(style)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
const parts = {
  '{{policy}}': policy,
  '<!-- style -->': `<style>${style}</style>`,
  '<!-- engine -->': `<script type="text/plain" id="engine">${engine}</script>`,
  '<!-- page -->': `<script>${page}</script>`,
};
let html = readFileSync(join(HERE, 'page/index.html'), 'utf8');
for (const [place, part] of Object.entries(parts)) html = html.replace(place, () => part);
mkdirSync(OUT, { recursive: true });
writeFileSync(join(OUT, 'page.html'), html);
mkdirSync(join(OUT, 'ui'), { recursive: true });
writeFileSync(join(OUT, 'ui/index.html'), readFileSync(join(HERE, 'live/index.html')));
writeFileSync(join(OUT, 'ui/page.js'), live);
writeFileSync(join(OUT, 'ui/page.css'), style);

/** One text, safe to embed in an element. */
async function bundled(entry, options) {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, entry)],
    bundle: true,
    minify: true,
    format: entry.endsWith('.css') ? undefined : 'iife',
    platform: 'browser',
    target: 'es2023',
    write: false,
    logLevel: 'warning',
    ...options,
  });
  return outputFiles[0].text.replace(/<\/(script|style)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
}

function hashOf(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
