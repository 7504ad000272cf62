import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { experimentJsonSchema } from '../../src/config/keys.js';
import { newApiErrorCounters, readApiErrors } from '../../src/live/frontend/api-error.js';
import { METRICS } from '../../src/live/observe/telemetry/metrics.js';
import { parseThreshold } from '../../src/record/threshold.js';
import { CASES } from '../conform/examine.js';
import { ROOT } from '../snippets.js';
import { generatedPages } from './generated.js';
import { pageAt } from './pages.js';
import { RENEW } from './run-page.js';
import { TABLES } from './tables.js';

const ADVICE = 'to renew it: UPDATE_DOCS=1 npx vitest run test/docs/reference.test.ts';

describe('tables that follow from the code', () => {
  it.each(TABLES)('$path has the table of $name', ({ path, table }) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const at = tablesIn(text).findIndex((other) => identityOf(other) === identityOf(table));
    expect(at, `the table must be:\n${table}`).toBeGreaterThanOrEqual(0);
    const shown = tablesIn(text)[at] as string;
    if (RENEW)
      writeFileSync(
        join(ROOT, path),
        text.replace(shown, () => table),
      );
    else expect(shown).toBe(table);
  });
});

const GENERATED = Object.entries(await generatedPages());

it.each(GENERATED)('%s is what follows from the code', (path, generated) => {
  if (RENEW) writeFileSync(join(ROOT, path), generated);
  expect(readFileSync(join(ROOT, path), 'utf8'), ADVICE).toBe(generated);
});

describe('tables of names', () => {
  it('of the sections of an experiment file has every one, and no other', () => {
    const { properties } = experimentJsonSchema() as { properties: object };
    const rows = namesIn('docs/reference/experiment-files.md', /^\| `(\w+)` \|/gm);
    expect(rows.sort()).toEqual(Object.keys(properties).sort());
  });

  it('of imports has everything that the package exports', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
    const exported = Object.keys(exports).filter((path) => path !== './package.json');
    const rows = namesIn('docs/how-to/use-the-library.md', /^\| `escapement(\/\w+)?` \|/gm);
    expect(rows.map((path = '') => `.${path}`).sort()).toEqual(exported.sort());
  });
});

it('the table of metrics has every one, and no other', () => {
  const rows = namesIn('docs/reference/metrics.md', /^\| `(escapement_\w+)` \|/gm);
  expect(rows.sort()).toEqual(Object.keys(METRICS).sort());
});

it('the table of reasons to refuse a request has every one, and no other', () => {
  const { text } = pageAt('docs/reference/metrics.md');
  const reasons = [...text.matchAll(/^ {2}\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, names]) =>
    names.split(', '),
  );
  const counted = readApiErrors(newApiErrorCounters()).map(({ reason }) => `\`${reason}\``);
  expect(reasons.sort()).toEqual([...new Set(counted)].sort());
});

it('the table of groups of conformance cases has every one, and no other', () => {
  expect(
    namesIn(
      'docs/how-to/check-conformance.md',
      /^\| `([a-z]+)` \| (?!the protocol|an ext|nothing|HTTP, gRPC)/gm,
    ),
  ).toEqual([...new Set(CASES.map(({ id }) => id.split('.')[0]))]);
});

it('names figures that thresholds know', () => {
  const { text } = pageAt('docs/how-to/check-slos-in-ci.md');
  const list = /Figures: (.*?`rareModelsAttainment`)/s.exec(text)?.[1] as string;
  const figures = [...list.matchAll(/`([\w.]+)(?:<[\d.]+%)?`/g)].map((match) => match[1] as string);
  expect(figures.length).toBeGreaterThan(15);
  for (const figure of figures) {
    const isDuration = /^(?:mean|max|p[\d.]+|executed\w+)$/.test(figure);
    expect(parseThreshold(`${figure}<1${isDuration ? 'ms' : ''}`).metric).toBe(figure);
  }
});

function tablesIn(text: string): string[] {
  return [...text.matchAll(/^\|.*\|(?:\n\|.*\|)+$/gm)].map(([table]) => table);
}

/** Header and first cells of two rows: a page may have several tables with the same header. */
function identityOf(table: string): string {
  const [header, , ...rows] = table.split('\n');
  return [header, ...rows.slice(0, 2).map((row) => row.split(' | ')[0])].join();
}

function namesIn(path: string, pattern: RegExp): string[] {
  return [...pageAt(path).text.matchAll(pattern)].map((match) => match[1] as string);
}
