import { describe, expect, it } from 'vitest';
import type { RunParts } from '../../src/record/results.js';
import { fleetSections } from '../../src/report/fleet-text.js';
import { fleetOf, rankFleets } from '../../src/report/fleets.js';
import { comparePolicies } from '../../src/report/policies/compare.js';
import { senderSections } from '../../src/report/senders.js';
import { documentText } from '../../src/report/terminal/document-text.js';
import { policiesText } from '../../src/report/terminal/summary-text.js';
import { partFixture, runFixture } from './fixtures.js';
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
Attainment by tenant, means in percent

policy      small  flood
escapement   99.0   50.0
edf          40.0   50.0

Goodput by tenant, means in requests/s

policy      small  flood
escapement    198    600
edf           198    600

GPU time by tenant, means in percent

policy                  small  flood
escapement               60.0   40.0
edf                      50.0   50.0
(share under overload)   25.0   75.0
`);
    expect(text).toMatch(/^Goodput in percent/m);
  });

  it('has no share in time of a tenant that offered nothing, and means over the cells in which it offered some', () => {
    const { requests } = partFixture('none', 0, 0);
    const rested = compared((_, slo) => ({
      by: {
        tenant: [
          tenant('small', slo === '25ms' ? { attainment: null, requests } : { attainment: 0.75 }),
          tenant('idle', { attainment: null, goodputRps: 0, requests }),
        ],
      },
    }));
    const text = policiesText(rested);
    expect(text).toMatch(/percent\n\npolicy +small +idle\nescapement +75\.0 +–\nedf +75\.0 +–\n/);
    expect(text).toMatch(/requests\/s\n\npolicy +small +idle\nescapement +100 +0\nedf +100 +0\n/);
  });

  it('is left out where cells have other tenants, or none', () => {
    expect(policiesText(withTenants('storm'))).not.toContain('by tenant');
    const text = policiesText(compared(() => ({})));
    expect(text).not.toContain('by tenant');
  });

  it('has no GPU time where no INFER ran, nor shares that differ from cell to cell', () => {
    const idle = compared(() => ({
      by: { tenant: [tenant('small', { gpuShare: null }), tenant('flood', {})] },
    }));
    expect(senderSections('policy', ['a', 'b'], idle.cells).map(({ title }) => title)).toEqual([
      'Attainment by tenant, means in percent',
      'Goodput by tenant, means in requests/s',
    ]);
    const varied = compared((_, slo) => ({
      by: { tenant: [tenant('small', { share: slo === '25ms' ? 0.5 : 0.25 }), tenant('flood', {})] },
    }));
    expect(policiesText(varied)).not.toContain('share under overload');
  });

  it('is on a terminal of the first eight', () => {
    const tenants = Array.from({ length: 11 }, (_, i) => tenant(`t${i}`, {}));
    const many = compared(() => ({ by: { tenant: tenants } }));
    const text = policiesText(many);
    expect(text).toContain('t7');
    expect(text).not.toContain('t8');
  });
});

describe('what classes got of each policy', () => {
  it('names their weights, and what is guaranteed', () => {
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
    expect(text).toMatch(/^policy +gold × 10 +jobs × 0\.1\nescapement +90\.0 +30\.0$/m);
    expect(text).toMatch(/^escapement +80\.0 +20\.0\nedf +80\.0 +20\.0\n\(guaranteed\) +0\.0 +10\.0$/m);
  });

  it('has no weights where they differ from cell to cell', () => {
    const varied = compared((_, slo) => ({
      by: { class: [classOf('gold', { weight: slo === '25ms' ? 10 : 2 }), classOf('others', {})] },
    }));
    expect(policiesText(varied)).toMatch(/^policy +gold +others$/m);
  });
});

describe('what classes and tenants got of each fleet', () => {
  const { summary } = runFixture({ sloMs: 50, goodputRps: 480 });
  const fleet = (name: string, gpuHours: number, by: Partial<RunParts>) => {
    const scaling = { scaler: 'reactive', gpuHours, meanGpus: 1, mostGpus: 3, ordered: 2, stopped: 1 };
    return fleetOf(name, { ...summary, attainment: 0.995, scaling, by: { ...summary.by, ...by } })!;
  };
  const fleets = rankFleets([
    fleet('dear', 9, {
      class: [classOf('gold', { weight: 10 })],
      tenant: [
        tenant('small', { attainment: 0.999, goodputRps: 199.8, gpuShare: 0.2 }),
        tenant('big', { share: 0.75, gpuShare: 0.8 }),
      ],
    }),
    fleet('cheap', 5, {
      class: [classOf('gold', { weight: 10, attainment: 0.8 })],
      tenant: [
        tenant('small', { attainment: 0.85, goodputRps: 170, gpuShare: 0.3 }),
        tenant('big', { share: 0.75, gpuShare: 0.7 }),
      ],
    }),
  ]);

  it('is below their ranking, in its order', () => {
    const text = documentText({ kind: '', title: '', lead: [], sections: fleetSections(fleets) });
    expect(text).toContain(`
Attainment by class, means in percent

fleet  gold × 10
cheap       80.0
dear        50.0
`);
    expect(text).toContain(`
Attainment by tenant, means in percent

fleet  small   big
cheap   85.0  50.0
dear    99.9  50.0

Goodput by tenant, means in requests/s

fleet  small  big
cheap    170  100
dear   199.8  100

GPU time by tenant, means in percent

fleet                   small   big
cheap                    30.0  70.0
dear                     20.0  80.0
(share under overload)   25.0  75.0
`);
    expect(text).not.toMatch(/\n\n\n/);
  });

  it('is nowhere if there are none', () => {
    const bare = rankFleets([fleet('dear', 9, {}), fleet('cheap', 5, {})]);
    expect(fleetSections(bare).map(({ title }) => title)).toEqual(['Fleets by cost', '']);
  });
});
