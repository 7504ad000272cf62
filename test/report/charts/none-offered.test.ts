import { describe, expect, it } from 'vitest';
import { sweepCharts } from '../../../src/report/charts/chart-sets.js';
import { renderSvg } from '../../../src/report/html/render.js';
import { cellFixture, gridFixture, groupFixture, withParts } from '../fixtures.js';

const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

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
});
