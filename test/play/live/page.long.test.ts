import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, HAS_CHROMIUM, launchChromium } from '../../browser/chromium.js';
import { ROOT, runCli, tempDir, writeIn } from '../../cli/run-cli.js';
import { ServerProcess } from '../../cli/server-process.js';

/** Where those who look at the page find pictures of it. */
const PICTURES = join(ROOT, 'out/live-page');
const PROFILE = join(ROOT, 'experiments/profiles/resnet50_v2.v100.json');
const TOKEN = 'a-token-for-the-page';
const TENANTS = '{ list: [{ name: clinic, share: 3 }, { name: shop }] }';

let browser: Browser;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  mkdirSync(PICTURES, { recursive: true });
  browser = await launchChromium();
});

afterAll(() => browser?.close());

/** A controller with two workers, all behind one token. */
async function cluster() {
  const dir = tempDir();
  const token = writeIn(dir, 'token', TOKEN);
  const workers = [0, 1].map(
    () =>
      new ServerProcess([
        ...['worker', '--port', '0', '--metrics-port', 'off', '--token-file', token],
        ...['--device', `simulated:${PROFILE}`, '--copies', '4'],
      ]),
  );
  const addresses = await Promise.all(workers.map(async (worker) => (await worker.ready()).port));
  const controller = new ServerProcess([
    ...['controller', '--ui', '--token-file', token, '--worker-token-file', token],
    ...addresses.flatMap((port) => ['--worker', `127.0.0.1:${port}`]),
    ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', '0'],
    ...['--set', `tenants=${TENANTS}`],
  ]);
  const { http, metrics } = await controller.ready();
  const experiment = writeIn(
    dir,
    'load.yaml',
    [
      `models: { kind: profile, path: ${PROFILE}, copies: 4 }`,
      `tenants: ${TENANTS}`,
      'workload:',
      '  - { name: patient, tenant: clinic, slo: 5s, kind: poisson, rate: 40/s, duration: 20s }',
      // Most are refused on arrival: no server answers that fast.
      '  - { name: impatient, tenant: shop, slo: 1ms, kind: poisson, rate: 5/s, duration: 20s }',
    ].join('\n'),
  );
  const url = `http://127.0.0.1:${http}`;
  const load = runCli(['load', experiment, '--url', url, '--token-file', token, '--quiet']);
  return { workers, load, url: `http://127.0.0.1:${metrics}/ui/` };
}

describe.skipIf(!HAS_CHROMIUM)(`the page of a running server in ${CHROMIUM}`, () => {
  it('asks for the token, shows what runs, a lost worker, and the story of a request that was not in time', async () => {
    const { workers, load, url } = await cluster();
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, reducedMotion: 'reduce' });
    const wrong: string[] = [];
    page.on('pageerror', ({ message }) => wrong.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('401')) wrong.push(message.text());
    });
    page.on('request', (request) => {
      const asked = request.url();
      if ((!asked.startsWith('data:') && !asked.startsWith(new URL(url).origin)) || asked.includes(TOKEN))
        wrong.push(asked);
    });
    await page.goto(url);
    await page.getByLabel('Token').fill('not it');
    await page.getByRole('button', { name: 'Show the server' }).click();
    await page.getByText('The server refused this token.').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.screenshot({ path: join(PICTURES, 'token.png') });
    await page.getByRole('button', { name: 'Show the server' }).click();
    const inTime = page.locator('dt:text-is("In time, all") + dd');
    await inTime.filter({ hasText: /[1-9]/ }).waitFor({ timeout: 60_000 });
    const clinic = page.locator('tr', { has: page.getByRole('rowheader', { name: 'clinic', exact: true }) });
    await clinic.filter({ hasText: /75\.0 %.*[1-9]/ }).waitFor({ timeout: 60_000 });
    await page.screenshot({ path: join(PICTURES, 'running.png'), fullPage: true });
    await workers[1].kill('SIGKILL');
    await page.locator('tr.down').waitFor({ timeout: 60_000 });
    const missed = page.locator('dt:text-is("Not in time, all") + dd');
    await missed.filter({ hasText: /[1-9]/ }).waitFor({ timeout: 60_000 });
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Request \d+: (?:late|timeout|rejected|error)$/ }).waitFor();
    await page.screenshot({ path: join(PICTURES, 'worker-lost.png'), fullPage: true });
    // One that is refused has no more than an arrival and an answer.
    expect(await page.locator('.story li').count()).toBeGreaterThan(1);
    expect(await page.locator('.charts canvas').count()).toBe(2);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 375, height: 740 });
    await page.screenshot({ path: join(PICTURES, 'phone-dark.png'), fullPage: true });
    const [content, room] = (await page.evaluate(
      'const { scrollWidth, clientWidth } = document.documentElement; [scrollWidth, clientWidth]',
    )) as [number, number];
    expect(content).toBeLessThanOrEqual(room);
    await load;
    expect(wrong).toEqual([]);
    await page.close();
  }, 180_000);
});
