import { expect, test } from 'vitest';
import { comparePolicies } from '../../../src/report/policies/compare.js';
import { kendallTau } from '../../../src/report/policies/robustness.js';
import { policiesText } from '../../../src/report/policies/text.js';
import { policySweep } from './fixtures.js';

test.each([
  [[1, 2, 3, 4], [10, 20, 30, 40], 1],
  [[1, 2, 3, 4], [4, 3, 2, 1], -1],
  // Five of six pairs agree, one does not.
  [[1, 2, 3, 4], [1, 3, 2, 4], 4 / 6],
  // One pair is tied in b: 5 of √(6 · 5).
  [[1, 2, 3, 4], [1, 2, 2, 4], 5 / Math.sqrt(30)],
  [[1, 2, null, 4], [1, 2, 0, 4], 1],
  [[1, 1], [1, 2], null],
])('τ of %j and %j is %s', (a, b, tau) => {
  const found = kendallTau(a, b);
  if (tau === null) expect(found).toBeNull();
  else expect(found).toBeCloseTo(tau);
});

test('conditions are ranked side by side', () => {
  const level: Readonly<Record<string, readonly number[]>> = {
    clockwork: [900, 700],
    fifo: [500, 500],
    escapement: [950, 600],
  };
  const results = policySweep({
    vary: [
      { key: 'condition', values: ['ideal', 'noise'] },
      { key: 'policy.kind', values: Object.keys(level) },
    ],
    run: ({ condition, 'policy.kind': kind }) => ({
      goodputRps: level[kind!]![condition === 'ideal' ? 0 : 1]!,
    }),
  });
  const comparison = comparePolicies([{ name: 'sweep', results }]);
  expect(comparison.conditions).toMatchObject([
    { label: 'ideal', cells: 1, places: [1, 2, 3], tau: 1 },
    { label: 'noise', cells: 1, places: [2, 1, 3], tau: expect.closeTo(1 / 3) },
  ]);
  expect(policiesText(comparison)).toMatch(/^clockwork +2 \(90\.0\) +1 \(70\.0\)$/m);
  expect(policiesText(comparison)).toMatch(/^Kendall's τ +1\.00 +0\.33$/m);
});
