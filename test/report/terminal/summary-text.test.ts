import { describe, expect, it } from 'vitest';
import { summaryText } from '../../../src/report/index.js';
import {
  cellFixture,
  gridFixture,
  groupFixture,
  kindFixture,
  partFixture,
  runFixture,
  sweepFixture,
  withParts,
} from '../fixtures.js';

const run = runFixture({ sloMs: 10, goodputRps: 362.4, seed: 7 });
const group = [groupFixture('interactive', 50, 198.5, 0.291), groupFixture('batch', null, 1028, 1)];

/** A table of the text whose first heading is `head`: its rows by their first cell, as texts by heading. */
function tableIn(text: string, head: string): Record<string, Record<string, string>> {
  const lines = text.slice(text.search(new RegExp(`^ *${head} `, 'm'))).split('\n');
  const cells = (line: string) => line.trim().split(/ {2,}/);
  const titles = cells(lines[0]!);
  const end = lines.indexOf('');
  return Object.fromEntries(
    lines.slice(1, end).map((line) => {
      const row = cells(line);
      return [row[0], Object.fromEntries(titles.map((title, i) => [title, row[i]]))];
    }),
  );
}

describe('the text of a run', () => {
  it('has the seed first, the digest last, and then its requests by each dimension', () => {
    const text = summaryText(withParts(run, { group }));
    const [figures = '', table = ''] = text.split('\n\n');
    expect(figures.split('\n')[0]).toBe('seed      7');
    expect(figures.split('\n').at(-1)).toBe(`digest    ${run.summary.digest}`);
    expect(tableIn(table, 'group')).toEqual({
      interactive: {
        ...{ group: 'interactive', SLO: '50 ms', 'offered/s': '198.5', 'in time/s': '57.8' },
        ...{ attainment: '29.1 %', p50: 'never', p95: 'never', p99: 'never' },
      },
      batch: {
        ...{ group: 'batch', SLO: 'own', 'offered/s': '1,028', 'in time/s': '1,028' },
        ...{ attainment: '100 %', p50: '50.0 ms', p95: '95.0 ms', p99: '99.0 ms' },
      },
    });
    expect(summaryText(run)).toBe(`${figures.split('\n\n')[0]}\n`);
  });

  const gold = { ...partFixture('gold', 60, 5 / 6), weight: 10, share: 0.2, gpuShare: 0.3 };
  const failures = { ...run.summary.failures!, overShare: 7 };
  const shop = { ...partFixture('shop', 60, 0.8), share: 0.75, gpuShare: 0.6, failures };
  it.each([
    [{ class: [gold] }, 'class', 'gold × 10', { 'GPU time': '30.0 %', share: '20.0 %', 'in time/s': '50' }],
    [{ tenant: [shop] }, 'tenant', 'shop', { 'GPU time': '60.0 %', share: '75.0 %', 'beyond share': '7' }],
    [{ kind: [kindFixture('t4', 3)] }, 'kind of GPU', 't4', { GPUs: '3', 'EXEC busy': '50.0 %' }],
    [{ length: [partFixture('64', 60, 1)] }, 'length of input', 'up to 64', { p99: '49.5 ms' }],
  ])('has a row for each part: %j', (by, head, name, row) => {
    expect(tableIn(summaryText(withParts(run, by)), head)[name]).toMatchObject(row);
  });
});

describe('the text of a sweep', () => {
  it('has failed runs with their reason, and what has one value once', () => {
    const failed = ['policy.scheduleAhead=5ms slo=10ms seed=1'];
    const text = summaryText(sweepFixture({ slosMs: [10], seeds: [1], failed }));
    expect(text).toContain('E_MODEL_TOO_LARGE  model bert needs 90 pages, the cache has 80');
    expect(text).toContain('1 of 6 runs failed and is left out');
    expect(text).toContain('seed 1; SLO 10 ms');
    expect(text).not.toMatch(/^ *SLO /m);
  });

  it.each([
    ['a run', run],
    ['a run with groups', withParts(run, { group })],
    ['a sweep', sweepFixture()],
    ['three keys', sweepFixture({ seeds: [1], policies: ['clockwork', 'fifo'] })],
    [
      'long names',
      gridFixture({
        vary: [{ key: 'workload.functions.assignment', values: ['a'.repeat(60), 'b'.repeat(60)] }],
        run: () => cellFixture({ sloMs: 10, goodputRps: 10 }),
      }),
    ],
  ])('is plain text of at most 80 columns for %s, but for flags', (_, result) => {
    const text = summaryText(result, 80);
    expect(text).not.toContain('\u001b');
    for (const line of text.split('\n').filter((each) => !each.startsWith('--set')))
      expect(line.length).toBeLessThanOrEqual(80);
  });
});
