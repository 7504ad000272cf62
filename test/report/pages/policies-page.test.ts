import { describe, expect, it } from 'vitest';
import { policyCharts } from '../../../src/report/charts/chart-sets.js';
import { renderSvg } from '../../../src/report/html/render.js';
import { policiesPage } from '../../../src/report/pages/policies-page.js';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { matrixFixture, policySweep } from '../policies/fixtures.js';

const COSTS = [
  { case: 'small', policy: 'clockwork', usPerRequest: 0.8, ratio: 1 },
  { case: 'small', policy: 'escapement', usPerRequest: 1, ratio: 1.25 },
];
const comparison = comparePolicies([{ name: 'matrix', results: matrixFixture() }], COSTS);

describe('the page', () => {
  it('asks, and says what its figures rest on', () => {
    const text = policiesPage(comparison, [], '1.2.3');
    expect(text).toContain(
      '<p>How much of what any scheduler could have served do 3 policies serve within the SLO in every combination of setting (2), load (2) and SLO (2)?</p>',
    );
    expect(text).toContain('<p class="small">95 % intervals over 3 seeds.</p>');
  });

  it('lists no cell in which ours is beaten where it is not, or was not run', () => {
    const pageOf = (kinds: readonly string[], goodput: readonly number[]) => {
      const results = policySweep({
        vary: [{ key: 'policy.kind', values: kinds }],
        run: ({ 'policy.kind': kind }) => ({ goodputRps: goodput[kinds.indexOf(kind!)]! }),
      });
      return policiesPage(comparePolicies([{ name: 'a', results }]), [], '1.2.3');
    };
    expect(pageOf(['escapement', 'fifo'], [400, 500])).toContain('Where escapement is beaten');
    expect(pageOf(['escapement', 'fifo'], [500, 500])).not.toContain('is beaten');
    expect(pageOf(['clockwork', 'fifo'], [400, 500])).not.toContain('is beaten');
  });

  it('marks the best of each cell, and tells how to make it again', () => {
    const text = policiesPage(comparison, [], '1.2.3');
    expect(text).toContain('<strong>97.0 ± 2.5</strong>');
    expect(text).toContain('Where escapement is beaten');
    expect(text).toContain('--vary slo=25ms,100ms');
    expect(text).toContain('escapement compare matrix');
    expect(text).toContain('escapement 1.2.3');
    expect(text).not.toContain('<b>not markup</b>');
  });
});

describe('the charts', () => {
  const charts = policyCharts(comparison);

  it('draw every policy in every cell', async () => {
    const drawn = await Promise.all(charts.map(({ spec }) => renderSvg(spec)));
    expect(charts.map(({ name }) => name)).toEqual(['policies-spread', 'policies-goodput']);
    for (const svg of drawn) {
      for (const text of ['escapement', 'clockwork', 'fifo']) expect(svg).toContain(`>${text}</text>`);
    }
    for (const svg of drawn.slice(1)) {
      for (const text of ['one GPU', 'four GPUs', 'load 0.8', 'load 1.5'])
        expect(svg).toContain(`>${text}</text>`);
    }
  });

  it('draw a sweep of policies alone', async () => {
    const results = policySweep({
      vary: [{ key: 'policy.kind', values: ['clockwork', 'fifo'] }],
      run: () => ({ goodputRps: 500 }),
    });
    for (const { spec } of policyCharts(comparePolicies([{ name: 'a', results }]))) {
      expect(await renderSvg(spec)).toContain('>fifo</text>');
    }
  });
});
