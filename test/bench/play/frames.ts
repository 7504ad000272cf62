import type { Setup } from '../../../src/play/share/address.js';
import { playPage, servePage } from '../../../src/tools/play/page.js';
import { launchChromium } from '../../browser/chromium.js';
import { table } from '../live/markdown.js';

/*
 * How smoothly the playground plays: 6 GPUs at 20 ms of virtual time per second, in Debian's Chromium, which draws without
 * a GPU. `npm run bench:play`; prints how far apart frames were, and tasks in which the page could not react.
 */

const PLAYED_MS = 20_000;
/** Virtual seconds per wall second. */
const SPEED = 0.02;
/** So many boxes come into the view, and stay for seconds. */
const TEXT = `seed: 1
cluster: { gpus: 6 }
models: { kind: zoo, varieties: 15 }
workload: { kind: poisson, rate: 3000/s, duration: 20s }
slo: 100ms
policy: { kind: escapement }
`;

/** Runs in the page. */
const WATCH = `new Promise((resolve) => {
  const gapsMs = [];
  const longTasksMs = [];
  new PerformanceObserver((list) => longTasksMs.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask' });
  const endMs = performance.now() + ${PLAYED_MS};
  let lastMs = 0;
  requestAnimationFrame(function frame(nowMs) {
    if (lastMs > 0) gapsMs.push(nowMs - lastMs);
    lastMs = nowMs;
    if (nowMs < endMs) requestAnimationFrame(frame);
    else resolve({ gapsMs, longTasksMs });
  });
})`;

interface Frames {
  readonly gapsMs: readonly number[];
  readonly longTasksMs: readonly number[];
}

const rows: string[][] = [];
for (const lanes of [1, 2]) {
  const frames = await play(lanes);
  const gapsMs = frames.gapsMs.toSorted((a, b) => a - b);
  const at = (share: number) => gapsMs[Math.floor(share * (gapsMs.length - 1))]!.toFixed(1);
  const shown = (1000 * gapsMs.length) / gapsMs.reduce((sum, gapMs) => sum + gapMs, 0);
  const longest = frames.longTasksMs.length === 0 ? '' : Math.max(...frames.longTasksMs).toFixed(0);
  rows.push([
    `${lanes}`,
    shown.toFixed(1),
    at(0.5),
    at(0.99),
    at(1),
    `${frames.longTasksMs.length}`,
    longest,
  ]);
}
const titles = [
  'policies',
  'frames/s',
  'median ms',
  'p99 ms',
  'longest ms',
  'tasks > 50 ms',
  'longest task ms',
];
process.stdout.write(table(titles, rows));

async function play(lanes: number): Promise<Frames> {
  const setup: Setup = {
    ...{ file: 'experiment.yaml', text: TEXT, overrides: [], files: {} },
    lanes: [[], ['policy={ kind: clockwork }']].slice(0, lanes),
  };
  const site = await servePage(playPage(setup), 0);
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(site.url);
    await page.getByLabel('Speed').selectOption(`${SPEED}`);
    // The view fills first.
    await page.waitForTimeout(3000);
    return await page.evaluate<Frames>(WATCH);
  } finally {
    await browser.close();
    await site.close();
  }
}
