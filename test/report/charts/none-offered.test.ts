import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { documentPage } from '../../../src/report/html/page.js';
import { renderSvg } from '../../../src/report/html/render.js';
import { summaryText } from '../../../src/report/index.js';
import { runDocument } from '../../../src/report/pages/run-document.js';
import { sweepDocument } from '../../../src/report/pages/sweep-document.js';
import { cellFixture, gridFixture, groupFixture, partFixture, runFixture, withParts } from '../fixtures.js';

const run = runFixture({ sloMs: 50, goodputRps: 480 });
const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

function tenant(name: string, offeredRps: number) {
  return { ...partFixture(name, offeredRps, 0.75), share: 0.5, failures: run.summary.failures! };
}

describe('a group that offered nothing', () => {
  it('has no share in tables of its run', () => {
    const tenants = [tenant('busy', 100), tenant('idle', 0)];
    const page = documentPage(runDocument(withParts(run, { tenant: tenants })), []);
    const rows = page.slice(page.indexOf('<h2>By tenant</h2>')).split('<tr>');
    const idle = rows.find((row) => row.includes('>idle<'))!.replaceAll(/<[^>]*>/g, ' ');
    expect(idle).toMatch(/^\s*idle\s+0 %\s+50\.0 %\s+0\s+0\s+–/);
  });
});

describe('a group that offered nothing at some values of a sweep', () => {
  /** Sections of the workload; at 2, and for `never` at no value, one of them offers nothing. */
  const results = gridFixture({
    vary: [
      { key: 'workload.0.rate', values: ['1/s', '2/s', '3/s'] },
      { key: 'policy.kind', values: ['edf', 'fifo'] },
    ],
    defaults: { 'policy.kind': 'edf' },
    run: ({ 'workload.0.rate': rate, 'policy.kind': kind }) => {
      const group = [
        groupFixture('always', 50, 200, kind === 'edf' ? 0.9 : 0.8),
        groupFixture('sometimes', 50, rate === '2/s' ? 0 : 200, kind === 'edf' ? 0.95 : 0.7),
        groupFixture('never', 50, 0, 0),
      ];
      return { ...withParts(cellFixture({ sloMs: 100, goodputRps: 450 }), { group }), sloMs: null };
    },
  });

  it('has a gap in its chart, and an empty one where it never offers any', async () => {
    const spec = sweepCharts(results).find(({ name }) => name === 'groups')!.spec;
    const svg = await renderSvg(spec);
    const texts = textsOf(svg);
    expect(texts).toContain('never, SLO 50 ms: none offered');
    expect(texts).toContain('sometimes, SLO 50 ms');
    // A line for each policy: two values joined, or two of one value each.
    const lines = [...svg.matchAll(/aria-roledescription="line mark"[^>]*?d="([^"]*)"/g)].map(([, d]) => d!);
    expect(lines.map((d) => d.match(/M/g)?.length)).toEqual([1, 1, 2, 2]);
    // The axes begin above none: nothing is drawn as 0 %.
    expect(svg.replaceAll(/<[^>]*>/g, ' ')).toMatch(/axes begin at 50\s+%/);
  });

  it('is left out of who is served, and has no share in tables', () => {
    const text = summaryText(results);
    expect(text).toContain('70.0 %');
    expect(text).not.toMatch(/(^|\s)0 %/);
    expect(documentPage(sweepDocument(results), [])).not.toMatch(/>0 %</);
  });
});
