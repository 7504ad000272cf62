import { describe, expect, it } from 'vitest';
import { policyCharts } from '../../../src/report/charts/chart-sets.js';
import { renderSvg } from '../../../src/report/html/render.js';
import { policiesPage } from '../../../src/report/pages/policies-page.js';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { findingOf, question } from '../../../src/report/policies/finding.js';
import { matrixFixture, policySweep } from '../policies/fixtures.js';

const COSTS = [
  { case: 'small', policy: 'clockwork', usPerRequest: 0.8, ratio: 1 },
  { case: 'small', policy: 'escapement', usPerRequest: 1, ratio: 1.25 },
];
const comparison = comparePolicies([{ name: 'matrix', results: matrixFixture() }], COSTS);

describe('the page', () => {
  it('asks, and answers with figures of the results', () => {
    expect(question(comparison)).toBe(
      'How much of what any scheduler could have served do 3 policies serve within the SLO in every combination of setting (2), load (2) and SLO (2)?',
    );
    const finding = findingOf(comparison);
    expect(finding).toContain('Over 8 cells with 3 seeds each, escapement serves 95.7 ±');
    expect(finding).toContain('The highest of the others is clockwork with 92.0 ±');
    expect(finding).toContain(
      'escapement is unbeaten in 7 of 8 cells; elsewhere it is up to 5.0 points behind (clockwork at one GPU · load 1.5 · SLO 25 ms).',
    );
    expect(finding).toContain('It makes 0.10× the LOADs of clockwork.');
    expect(finding).toContain('No model falls below half of the overall attainment');
    expect(finding).toContain('takes 1.00 µs, 1.25× that of clockwork');
  });

  it('says who is ahead where ours is not, and does without ours', () => {
    const sweep = (kinds: readonly string[], goodput: readonly number[]) =>
      policySweep({
        vary: [{ key: 'policy.kind', values: kinds }],
        run: ({ 'policy.kind': kind }) => ({ goodputRps: goodput[kinds.indexOf(kind!)]! }),
      });
    const behind = comparePolicies([{ name: 'a', results: sweep(['escapement', 'fifo'], [400, 500]) }]);
    expect(findingOf(behind)).toContain('The highest of the others is fifo with 50.0');
    const without = comparePolicies([{ name: 'a', results: sweep(['clockwork', 'fifo'], [400, 500]) }]);
    expect(findingOf(without)).toContain('Over 1 cell with 3 seeds each, fifo serves 50.0');
    expect(policiesPage(without, [], '1.2.3')).not.toContain('is not the best');
  });

  it('marks the best of each cell, and tells how to make it again', () => {
    const text = policiesPage(comparison, [], '1.2.3');
    expect(text).toContain('<strong>97.0 ± 2.5</strong>');
    expect(text).toContain('Where escapement is not the best');
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
    expect(charts.map(({ name }) => name)).toEqual(['policies-spread', 'policies-goodput', 'policies-rank']);
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
