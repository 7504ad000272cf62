import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packAddress } from '../../src/play/share/address.js';
import { playPage, servePage } from '../../src/tools/play/page.js';
import { CHROMIUM, HAS_CHROMIUM, launchChromium, openPage } from '../browser/chromium.js';
import { ROOT, runOk, tempDir, writeIn } from '../cli/run-cli.js';

/** Where those who look at the page find pictures of it. */
const PICTURES = join(ROOT, 'out/play');
const TEXT =
  'models: { kind: zoo, varieties: 3 }\nworkload: { kind: poisson, rate: 300/s, duration: 2s }\nslo: 25ms\n';
const TRACE_TEXT = TEXT.replace(/^workload.*$/m, 'workload: { kind: arrivals, path: day.csv }');
const TRACE = `arrival_ns,model_id,slo_ns\n${Array.from({ length: 500 }, (_, i) => `${i * 2e6},${i % 3},25000000`).join('\n')}\n`;

let browser: Browser;
let site: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  mkdirSync(PICTURES, { recursive: true });
  browser = await launchChromium();
  site = await servePage(playPage(null), 0);
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

async function open(fragment = '', options: BrowserContextOptions = {}) {
  const opened = await openPage(browser, site.url, fragment === '' ? '' : `#${fragment}`, options);
  await opened.page.getByRole('button', { name: 'Play' }).waitFor();
  return opened;
}

const digestOf = (page: Page, lane = 0) => page.locator(`[data-digest="${lane}"]`).textContent();

async function runToEnd(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'To the end' }).click();
  await page.getByText('Goodput of the run').first().waitFor();
}

async function digestInNode(text: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const dir = tempDir();
  writeIn(dir, 'experiment.yaml', text);
  for (const [name, content] of Object.entries(files)) writeIn(dir, name, content);
  const { stdout } = await runOk(['simulate', 'experiment.yaml', '--json', '--quiet'], { cwd: dir });
  return JSON.parse(stdout).digest;
}

describe.skipIf(!HAS_CHROMIUM)(`the playground in ${CHROMIUM}`, () => {
  it('goes through the guided minute with figures of its own runs', async () => {
    const { page, close } = await open();
    await page.getByRole('button', { name: 'Guided minute' }).click();
    const said: string[] = [];
    for (let step = 1; step <= 5; step++) {
      const result = page.locator(`[data-step="${step}"]`).filter({ hasNotText: 'Simulating' });
      if (step === 5) await result.filter({ hasText: 'The bound is' }).waitFor({ timeout: 120_000 });
      else await result.waitFor({ timeout: 60_000 });
      said.push((await result.textContent()) ?? '');
      await page.screenshot({ path: join(PICTURES, `step-${step}.png`), fullPage: true });
      if (step < 5) await page.getByRole('button', { name: 'Next', exact: true }).click();
    }
    // As the sweep over schedule_ahead has it.
    expect(said[0]).toMatch(/^It served 49\.7 of 602 requests\/s|^It served 49\.\d of 60\d/);
    expect(said[1]).toMatch(/^One number changed: 36\d(?:\.\d)? requests\/s instead of 49\.\d, 7\.\d times/);
    const bound = /The bound is ([\d.]+) of/.exec(said[4])?.[1];
    const best = /escapement ([\d.]+)\./.exec(said[4])?.[1];
    expect(Number(bound)).toBeGreaterThan(Number(best));
    expect(await close()).toEqual([]);
  }, 300_000);

  it('decides what the command line decides for an address that is shared', async () => {
    const digest = await digestInNode(TEXT);
    const setup = { file: 'x.yaml', text: TEXT, overrides: [], lanes: [[]], files: {} };
    const { page, close } = await open(await packAddress({ ...setup, digests: [digest] }));
    await runToEnd(page);
    expect(await digestOf(page)).toBe(digest);
    expect(await page.getByText('The same run as the one that was shared').count()).toBe(1);
    expect(await close()).toEqual([]);
  });

  it('shows one line for an address that is no experiment, and works', async () => {
    const { page, close } = await open('1.%%%');
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/^the address: /);
    await runToEnd(page);
    expect(await close()).toEqual([]);
  });

  it('takes an experiment and the trace that it names, and refuses what is neither', async () => {
    const { page, close } = await open();
    const drop = (files: Readonly<Record<string, string>>) =>
      page.locator('input[type=file]').setInputFiles(
        Object.entries(files).map(([name, content]) => ({
          name,
          mimeType: 'text/plain',
          buffer: Buffer.from(content),
        })),
      );
    await drop({ 'experiment.yaml': TRACE_TEXT, 'day.csv': TRACE });
    await page.locator('[data-digest="1"]').waitFor({ state: 'detached' });
    await runToEnd(page);
    expect(await digestOf(page)).toBe(await digestInNode(TRACE_TEXT, { 'day.csv': TRACE }));
    await drop({ 'broken.yaml': 'models: [' });
    await page.getByRole('alert').filter({ hasText: 'broken.yaml:1: ' }).waitFor();
    await drop({ 'notes.txt': 'not a trace' });
    await page.getByRole('alert').filter({ hasText: 'notes.txt' }).waitFor();
    expect(await close()).toEqual([]);
  });

  it('stops at a request that is not in time, and tells its story', async () => {
    const { page, close } = await open();
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: /^Request \d+ of [AB]: (?:late|timeout|rejected)/ }).waitFor();
    await page.screenshot({ path: join(PICTURES, 'story.png'), fullPage: true });
    // Times count from the arrival.
    expect(await page.locator('.story li b').first().textContent()).toBe('+0.00 ms');
    const before = await page.getByLabel('Virtual time').textContent();
    await page.keyboard.press('.');
    await expect.poll(() => page.getByLabel('Virtual time').textContent()).not.toBe(before);
    expect(await close()).toEqual([]);
  });

  it('goes on in a world that is made worse', async () => {
    const { page, close } = await open();
    await page.getByRole('button', { name: 'Next late request' }).click();
    await page.getByRole('heading', { name: /^Request/ }).waitFor();
    for (const name of ['Network 5 ms slower', 'Lose a GPU', 'A burst', 'Wrong profiles']) {
      await page.getByRole('button', { name }).click();
      await page.keyboard.press('.');
    }
    await runToEnd(page);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await close()).toEqual([]);
  });

  it('fits a phone', async () => {
    const { page, close } = await open('', { viewport: { width: 375, height: 740 } });
    await page.getByRole('button', { name: 'Next late request' }).click();
    await page.getByRole('heading', { name: /^Request/ }).waitFor();
    await page.screenshot({ path: join(PICTURES, 'phone.png'), fullPage: true });
    const [content, room] = (await page.evaluate(
      'const { scrollWidth, clientWidth } = document.documentElement; [scrollWidth, clientWidth]',
    )) as [number, number];
    expect(content).toBeLessThanOrEqual(room);
    expect(await close()).toEqual([]);
  });

  it('weighs at most 400 KB', () => {
    expect(gzipSync(playPage(null)).length).toBeLessThan(400_000);
  });
});
