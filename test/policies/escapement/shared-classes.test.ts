import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { Cluster } from '../../../src/core/cluster.js';
import type { Dispatcher } from '../../../src/core/policy.js';
import { RequestTable } from '../../../src/core/request.js';
import { SharedClasses } from '../../../src/policies/escapement/shared-classes.js';
import { simulate } from '../../../src/run/simulated.js';
import { model } from '../../core/fixtures.js';

const CLASSES = [
  { name: 'gold', weight: 10, share: 0.5 },
  { name: 'bulk', weight: 0.5, share: 0 },
];

function context(hasShares: boolean) {
  return {
    cluster: new Cluster({ models: [model()], gpus: 1, pages: 20 }),
    requests: new RequestTable(),
    dispatch: {} as Dispatcher,
    defaultSloNs: 1e8,
    classes: CLASSES,
    hasShares,
  };
}

describe('requests within shares', () => {
  it('weigh more than all others, of any class', () => {
    const { list } = new SharedClasses(context(true));
    expect(list.map(({ name }) => name)).toEqual(['gold', 'bulk', 'gold', 'bulk']);
    const [gold, bulk, goldAbove, bulkAbove] = list.map(({ weight }) => weight);
    expect([gold, bulk]).toEqual([10, 0.5]);
    expect(goldAbove).toBeLessThan(bulk);
    expect(goldAbove / bulkAbove).toBeCloseTo(20, 9);
  });

  it('differ from others by their tenant, if several share the GPUs', () => {
    const given = context(true);
    const { requests } = given;
    requests.requestClass[0] = 1;
    requests.isAboveShare[1] = 1;
    const shared = new SharedClasses(given);
    expect([shared.of(0), shared.of(1)]).toEqual([1, 2]);
    expect(new SharedClasses(context(false)).list).toEqual(CLASSES);
  });

  it('go first, however long, while another tenant floods the GPUs with texts of all lengths', async () => {
    const flooded = await simulated(
      'tenants: { list: [{ name: loud }, { name: quiet }] }',
      'tenant',
      [3000, 200],
    );
    const [, quiet] = flooded.by.tenant!;
    expect(quiet!.attainment).toBeGreaterThan(0.99);
    // A policy that does not know lengths serves a third of them.
    const blind = await simulated(
      'tenants: { list: [{ name: loud }, { name: quiet }] }\npadding: batch',
      'tenant',
      [3000, 200],
    );
    expect(flooded.goodputRps).toBeGreaterThan(2.8 * blind.goodputRps!);
  });
});

it('heavy requests go first, however long, and light ones fill what is left with short texts', async () => {
  const classes = 'classes: [{ name: light, weight: 1 }, { name: heavy, weight: 50 }]';
  const known = await simulated(classes, 'class', [2000, 300]);
  const [, heavy] = known.by.class!;
  expect(heavy!.attainment).toBeGreaterThan(0.99);
  const blind = await simulated(`${classes}\npadding: batch`, 'class', [2000, 300]);
  expect(known.goodputRps).toBeGreaterThan(2.1 * blind.goodputRps!);
});

/** Requests of two classes or tenants at these rates, for texts of all lengths, on two GPUs. */
async function simulated(settings: string, by: 'class' | 'tenant', rates: readonly [number, number]) {
  const names = by === 'class' ? ['light', 'heavy'] : ['loud', 'quiet'];
  const length = '{ kind: lognormal, median: 40, sigma: 1, max: 512 }';
  const text = `seed: 1
cluster: { gpus: 2 }
models: { kind: profile, path: experiments/profiles/bert-base.estimate.v100.json, copies: 4 }
slo: 50ms
warmup: 2s
policy: { kind: escapement }
output: { timeline: false }
${settings}
workload:
${names.map((name, i) => `  - { kind: poisson, rate: ${rates[i]}/s, duration: 6s, ${by}: ${name}, length: ${length} }`).join('\n')}
`;
  return (await simulate(await parseExperiment(text, resolve('lengths.yaml')))).summary;
}
