import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { simulate } from '../../src/run/simulated.js';
import { load } from '../config/experiment-files.js';
import { pageAt } from '../docs/pages.js';
import { ROOT } from '../snippets.js';
import { bundle } from './bundle.js';
import { CHROMIUM, HAS_CHROMIUM, openInChromium } from './chromium.js';

/** Starts `worker.js`, and sends what it says with the longest time that the page could not react in. */
const PAGE = `<!doctype html><title>golden runs</title><script type="module">
let longestTaskMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration);
}).observe({ type: 'longtask', buffered: true });
let frames = 0;
requestAnimationFrame(function frame() { frames++; requestAnimationFrame(frame); });
const send = (result) => fetch('/result', { method: 'POST', body: JSON.stringify(result) });
const worker = new Worker('worker.js', { type: 'module' });
worker.onmessage = ({ data: digests }) => send({ digests, longestTaskMs, frames });
worker.onerror = ({ message }) => send({ problem: message });
</script>`;

test('golden runs in a worker decide what they always did', async ({ skip, annotate }) => {
  skip(!HAS_CHROMIUM, `there is no ${CHROMIUM}`);
  const worker = await bundle({ path: join(ROOT, 'test/browser/golden-worker.ts') });
  const { digests, longestTaskMs, frames } = (await openInChromium({ '/': PAGE, '/worker.js': worker })) as {
    digests: Record<string, string>;
    longestTaskMs: number;
    frames: number;
  };
  await annotate(`longest task of the page: ${longestTaskMs} ms, ${frames} frames`);
  const golden = JSON.parse(readFileSync(join(ROOT, 'test/golden/digests.json'), 'utf8'));
  const expected = Object.entries(golden as Record<string, { digest: string }>);
  expect(digests).toEqual(Object.fromEntries(expected.map(([name, { digest }]) => [name, digest])));
});

test('the page of the documentation shows the digest that Node has', async ({ skip }) => {
  skip(!HAS_CHROMIUM, `there is no ${CHROMIUM}`);
  const code = (file: string) => {
    const found = pageAt('docs/how-to/simulate-in-a-web-page.md').fences.find((fence) => fence.file === file);
    return found!.code;
  };
  const watch = `<script type="module">
    new MutationObserver(() => {
      const { value } = document.querySelector('output');
      if (value !== '') fetch('/result', { method: 'POST', body: JSON.stringify(value) });
    }).observe(document.querySelector('output'), { childList: true, characterData: true, subtree: true });
  </script>`;
  const shown = await openInChromium({
    '/': code('index.html') + watch,
    '/page.js': code('page.js'),
    '/worker.bundle.js': await bundle({ text: code('worker.js') }),
  });
  const [text = '', models = ''] = [...code('page.js').matchAll(/`\n?(models?[^`]*)`/g)].map(
    ([, found]) => found,
  );
  const experiment = await load(text, ['slo=50ms'], { 'models.csv': models });
  const { goodputRps, digest } = (await simulate(experiment)).summary;
  expect(shown).toBe(`goodput ${goodputRps}/s, digest ${digest}`);
});

test('all that a page loads is small when it is compressed', async ({ annotate }) => {
  const code = await bundle({ path: join(ROOT, 'src/browser/index.ts') });
  const [gzipped, brotlied] = [gzipSync(code).length, brotliCompressSync(code).length];
  await annotate(`${code.length} bytes, ${gzipped} with gzip, ${brotlied} with Brotli`);
  expect(gzipped).toBeGreaterThan(50_000);
  expect(gzipped).toBeLessThan(205_000);
});
