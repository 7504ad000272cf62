import { describe, expect, it } from 'vitest';
import type { RunParts } from '../../src/record/results.js';
import { comparePolicies } from '../../src/report/policies/compare.js';
import { policiesText } from '../../src/report/terminal/summary-text.js';
import { partFixture } from './fixtures.js';
import { policySweep, type RunFigures } from './policies/fixtures.js';

type Tenant = NonNullable<RunParts['tenant']>[number];
type ClassPart = NonNullable<RunParts['class']>[number];

function tenant(name: string, figures: Partial<Tenant>): Tenant {
  return { ...partFixture(name, 200, 0.5), share: 0.25, gpuShare: 0.5, ...figures };
}

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

/** The mean over cells and seeds: 0.6 and 0.4 of the GPUs of ours; edf gives half to each. */
const withTenants = (flood: string) =>
  compared((kind, slo, seed) => {
    const isOurs = kind === 'escapement';
    const share = isOurs ? (slo === '25ms' ? 0.7 : 0.5) + (seed === 1 ? 0.01 : -0.01) : 0.5;
    const tenants = [
      tenant('small', { share: 0.25, attainment: isOurs ? 0.99 : 0.4, goodputRps: 198, gpuShare: share }),
      tenant(slo === '25ms' ? 'flood' : flood, { share: 0.75, goodputRps: 600, gpuShare: 1 - share }),
    ];
    return { by: { tenant: tenants } };
  });

describe('what tenants got of each policy', () => {
  it('is in the text: in time, requests/s, and GPU time next to their shares', () => {
    const text = policiesText(withTenants('flood'));
    expect(text).toContain(`
tenant  policy      attainment  in time/s  GPU time  share under overload
small   escapement      99.0 %        198    60.0 %                25.0 %
small   edf             40.0 %        198    50.0 %                25.0 %
flood   escapement      50.0 %        600    40.0 %                75.0 %
flood   edf             50.0 %        600    50.0 %                75.0 %
`);
    expect(text).toMatch(/^Goodput in percent/m);
  });

  it('is left out where cells have other tenants, or none', () => {
    expect(policiesText(withTenants('storm'))).not.toContain('share under overload');
    const text = policiesText(compared(() => ({})));
    expect(text).not.toContain('share under overload');
  });
});

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
