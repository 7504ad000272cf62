import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, HAS_CHROMIUM, launchChromium, openPage } from '../browser/chromium.js';
import { ROOT } from '../snippets.js';
import { PAGES } from './pages.js';
import { type ServedSite, serveSite } from './serve-site.js';

const SITE = join(ROOT, 'docs/.vitepress/dist');
/** Where those who look at the site find pictures of it. */
const PICTURES = join(ROOT, 'out/site');

/** Of the library two of the smaller parts: each has its pages made in the same way, and all of them take a minute. */
const DOORS = ['core', 'sim'].flatMap((door) => ['--entryPoints', `src/${door}/index.ts`]);

beforeAll(() => {
  for (const command of [
    ['typedoc', '--options', 'docs/typedoc.js', ...DOORS],
    ['vitepress', 'build', 'docs'],
  ]) {
    const { status, stdout, stderr } = spawnSync('npx', command, { cwd: ROOT, encoding: 'utf8' });
    expect(status, stdout + stderr).toBe(0);
  }
});

it('has a page for each of the documentation and of the library', () => {
  const built = (page: string) => existsSync(join(SITE, page));
  const pages = PAGES.filter(({ path }) => !['README.md', 'docs/README.md'].includes(path)).map(({ path }) =>
    path.replace('docs/', '').replace('README.md', 'index.md').replace('.md', '.html'),
  );
  const others = ['index.html', 'contents.html', 'contributing.html', 'api/core/classes/Controller.html'];
  expect([...pages, ...others].filter((page) => !built(page))).toEqual([]);
});

describe.skipIf(!HAS_CHROMIUM)(`small playgrounds in ${CHROMIUM}`, () => {
  let browser: Browser;
  let site: ServedSite;

  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    browser = await launchChromium();
    site = await serveSite(SITE);
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
  });

  const open = (path: string, options: BrowserContextOptions = {}) =>
    openPage(browser, site.url, `/${path}`, options);

  const idea = (page: Page, name: string) => page.locator(`play-idea[idea="${name}"]`).first();

  /** Waits until a playground has come to the end of its run, and returns its figures. */
  async function figures(of: Locator): Promise<Readonly<Record<string, string>>> {
    await of.scrollIntoViewIfNeeded();
    await of.getByText('Goodput', { exact: true }).waitFor({ timeout: 60_000 });
    const [names, values] = await Promise.all([
      of.locator('dt').allTextContents(),
      of.locator('dd').allTextContents(),
    ]);
    return Object.fromEntries(names.map((name, i) => [name, values[i] as string]));
  }

  async function turnTo(of: Locator, choice: string) {
    await of.scrollIntoViewIfNeeded();
    const slider = of.getByRole('slider');
    await slider.focus();
    await slider.press('Home');
    for (let i = 0; i < 20 && (await of.locator('output').textContent()) !== choice; i++)
      await slider.press('ArrowRight');
    expect(await of.locator('output').textContent()).toBe(choice);
    return figures(of);
  }

  const heightOf = async (of: Locator) => (await of.boundingBox())?.height;
  const rateOf = ({ Goodput }: Readonly<Record<string, string>>) =>
    Number.parseFloat((Goodput as string).replaceAll(',', ''));
  const percentOf = (text = '') => Number.parseFloat(text);

  it('show on the front page what schedule_ahead does, and add at most 225 KB to it', async () => {
    const { page, close } = await open('');
    const play = idea(page, 'schedule-ahead');
    const before = await figures(play);
    const after = await turnTo(play, '5ms');
    expect(rateOf(after)).toBeGreaterThan(4 * rateOf(before));
    const own = [...site.sentBytes].filter(([path]) => /\/(?:element|worker)[.-]/.test(path));
    expect(own).toHaveLength(2);
    expect(own.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThanOrEqual(225_000);
    expect(await close()).toEqual([]);
  });

  it('show the ideas of the concept page', async () => {
    const { page, close } = await open('concepts/how-it-works.html');
    const windows = idea(page, 'windows');
    await windows.scrollIntoViewIfNeeded();
    await windows.getByText('Waiting', { exact: true }).waitFor();
    const time = () => windows.locator('dd').first().textContent();
    const before = await time();
    await windows.getByRole('button', { name: 'Step' }).click();
    await expect.poll(time).not.toBe(before);
    const balanced = idea(page, 'load-balancing');
    const [one, two] = [await turnTo(balanced, '1'), await turnTo(balanced, '2')];
    expect(rateOf(two)).toBeGreaterThan(1.5 * rateOf(one));
    const fair = idea(page, 'fairness');
    const [none, some] = [await turnTo(fair, '0'), await turnTo(fair, '0.7')];
    expect(percentOf(some['Worst model'])).toBeGreaterThan(percentOf(none['Worst model']) + 5);
    expect(rateOf(some)).toBeLessThan(rateOf(none));
    expect(await close()).toEqual([]);
  });

  it('tell by keys why a request was late', async () => {
    const { page, close } = await open('', { viewport: { width: 375, height: 740 } });
    const play = idea(page, 'schedule-ahead');
    await figures(play);
    await play.locator('canvas').focus();
    for (const key of ['ArrowDown', 'Enter']) await page.keyboard.press(key);
    await play.getByRole('heading', { name: /^Request \d+: (?:late|timeout)$/ }).waitFor();
    await play.screenshot({ path: join(PICTURES, 'story.png') });
    expect(await close()).toEqual([]);
  });

  it('leave with their page', async () => {
    const { page, close } = await open('concepts/how-it-works.html');
    await figures(idea(page, 'schedule-ahead'));
    expect(page.workers().length).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Glossary' }).first().click();
    await page.getByRole('heading', { name: 'Glossary', level: 1 }).waitFor();
    await expect.poll(() => page.workers().length).toBe(0);
    expect(await close()).toEqual([]);
  });

  it.each([
    ['desktop', {}],
    ['phone', { viewport: { width: 375, height: 740 } }],
  ])('fit, and move nothing: %s', async (name, options) => {
    const { page, close } = await open('concepts/how-it-works.html', options);
    for (const play of await page.locator('play-idea').all()) {
      const room = await heightOf(play);
      await play.scrollIntoViewIfNeeded();
      await play.getByText(/^(?:Goodput|Waiting)$/).waitFor();
      expect(await heightOf(play)).toBe(room);
    }
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
    const [content, room] = (await page.evaluate(
      'const { scrollWidth, clientWidth } = document.documentElement; [scrollWidth, clientWidth]',
    )) as [number, number];
    expect(content).toBeLessThanOrEqual(room);
    expect(await close()).toEqual([]);
  });

  it('are their text where scripts are off', async () => {
    const { page, close } = await open('concepts/how-it-works.html', { javaScriptEnabled: false });
    const windows = idea(page, 'windows');
    expect(await windows.textContent()).toContain('npx escapement play');
    expect(await windows.getByRole('link').count()).toBe(1);
    expect(await heightOf(windows)).toBeLessThan(250);
    expect(await close()).toEqual([]);
  });
});
