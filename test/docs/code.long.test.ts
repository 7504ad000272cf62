import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { ROOT, runSnippet, typeErrors } from '../snippets.js';
import { PAGES, pageAt } from './pages.js';

/** A clock that only timers move, each to exactly the moment it was set for. */
const PUNCTUAL_TIMERS = `
let nowMs = 0;
let timers = [];
Object.defineProperty(globalThis, 'performance', { value: { now: () => nowMs } });
globalThis.setTimeout = (then, ms) => timers[timers.push({ then, atMs: nowMs + ms }) - 1];
globalThis.clearTimeout = (timer) => { timers = timers.filter((other) => other !== timer); };
setImmediate(() => {
  while (timers.length > 0) {
    const next = timers.reduce((first, other) => (other.atMs < first.atMs ? other : first));
    clearTimeout(next);
    nowMs = next.atMs;
    next.then();
  }
});
`;

const LIBRARY = codeOf('docs/how-to/use-the-library.md', 'ts');

describe('yaml', () => {
  const blocks = blocksOf('yaml');

  // A reader saves what has a name in the root of a checkout.
  it.each(blocks)(
    'of $path at line $line is an experiment',
    async ({ code, file = 'experiments/page.yaml' }) => {
      const experiment = await parseExperiment(code, join(ROOT, file));
      expect(experiment.models.length).toBeGreaterThan(0);
    },
  );
});

describe('TypeScript', () => {
  it.each(blocksOf('ts'))('of $path at line $line passes the type checker', ({ code }) => {
    expect(typeErrors(code)).toEqual([]);
  });

  it.each([
    ['README.md', codeOf('README.md', 'ts')[0] as string, /^[\d.]+ [\d.]+ [0-9a-f]{16}\n$/],
    ['docs/how-to/use-the-library.md', LIBRARY[0] as string, /^[\d.]+ [\d.]+ [0-9a-f]{16}\n$/],
    [
      'docs/how-to/simulate-in-a-web-page.md',
      codeOf('docs/how-to/simulate-in-a-web-page.md', 'ts')[0] as string,
      /^(?:[\d.]+ ms (?:LOAD|INFER|request) .*\n)+[\d.]+ [0-9a-f]{16}\n$/,
    ],
    [
      'docs/how-to/write-a-policy.md',
      codeOf('docs/how-to/write-a-policy.md', 'ts')[0] as string,
      /^mine [\d.]+\n$/,
    ],
  ])('of %s simulates from a program', (_, code, printed) => {
    const { status, stdout, stderr } = runSnippet(code, ROOT);
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(printed);
  });

  it('drives the scheduler with a clock of its own', () => {
    const code = LIBRARY[1] as string;
    // How fast a real timer fires, and with it what becomes of a request, depends on the machine.
    const punctual = runSnippet(PUNCTUAL_TIMERS + code, ROOT);
    expect(punctual.stderr).toBe('');
    expect(punctual.stdout).toMatch(/^(?:ok [\d.]+ ms\n){8}$/);
  });
});

function blocksOf(language: string) {
  return PAGES.flatMap(({ path, fences }) =>
    fences.filter((fence) => fence.language === language).map((fence) => ({ path, ...fence })),
  );
}

function codeOf(path: string, language: string): string[] {
  return pageAt(path)
    .fences.filter((fence) => fence.language === language)
    .map(({ code }) => code);
}
