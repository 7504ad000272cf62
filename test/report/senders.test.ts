import { describe, expect, it } from 'vitest';
import type { RunParts } from '../../src/record/results.js';
import { comparePolicies } from '../../src/report/policies/compare.js';
import { policiesText } from '../../src/report/terminal/summary-text.js';
import { partFixture } from './fixtures.js';
import { policySweep, type RunFigures } from './policies/fixtures.js';

type ClassPart = NonNullable<RunParts['class']>[number];

function classOf(name: string, figures: Partial<ClassPart>): ClassPart {
  return { ...partFixture(name, 200, 0.5), weight: 1, share: 0, gpuShare: 0.5, ...figures };
}

function compared(run: (kind: string, slo: string, seed: number) => Omit<RunFigures, 'goodputRps'>) {
  const results = policySweep({
    vary: [
      { key: 'policy.kind', values: ['escapement', 'edf'] },
      { key: 'slo', values: ['25ms', '100ms'] },
    ],
    seeds: [1, 2],
    run: ({ 'policy.kind': kind, slo }, seed) => ({ goodputRps: 500, ...run(kind!, slo!, seed) }),
  });
  return comparePolicies({ name: 'sweep', results });
}

describe('what classes got of each policy', () => {
  it('is next to what is guaranteed', () => {
    const text = policiesText(
      compared(() => ({
        by: {
          class: [
            classOf('gold', { weight: 10, attainment: 0.9, gpuShare: 0.8 }),
            classOf('jobs', { weight: 0.1, share: 0.1, attainment: 0.3, gpuShare: 0.2 }),
          ],
        },
      })),
    );
    expect(text).toMatch(/^Weighted goodput in percent/m);
    expect(text).toMatch(/^class +policy +attainment +in time\/s +GPU time +guaranteed$/m);
    expect(text).toMatch(/^gold +edf +90\.0 % +100 +80\.0 % +0 %$/m);
    expect(text).toMatch(/^jobs +escapement +30\.0 % +100 +20\.0 % +10\.0 %$/m);
  });
});
