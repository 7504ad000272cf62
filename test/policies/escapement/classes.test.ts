import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { simulate } from '../../../src/run/simulated.js';

/** One model, whose requests are served one by one in about 1.4 ms: 700 a second. */
const file = (classes: string, gold: number, bulk: number, policy = 'maxBatch: 1, fairness: 0') => `seed: 1
cluster: { gpus: 1, pages: 60 }
models: { kind: fit, name: model, parameters: 10M }
classes: ${classes}
workload:
  - { kind: poisson, rate: ${gold}/s, duration: 12s, class: gold }
  - { kind: poisson, rate: ${bulk}/s, duration: 12s, class: bulk }
slo: 100ms
policy: { kind: escapement, ${policy} }
warmup: 2s
output: { timeline: false }
`;

async function summaryOf(...args: Parameters<typeof file>) {
  const { summary } = await simulate(await parseExperiment(file(...args), 'classes.yaml'));
  const [gold, bulk] = summary.by.class!;
  return { ...summary, gold, bulk };
}

/** Requests a second that the GPU serves when it always has work. */
async function capacity(): Promise<number> {
  const { goodputRps } = await summaryOf('[{ name: gold }, { name: bulk }]', 4000, 1);
  return goodputRps!;
}

describe('under overload', () => {
  it('heavy requests get the GPU, and light ones what they leave', async () => {
    const most = await capacity();
    const { gold, bulk, goodputRps } = await summaryOf(
      '[{ name: gold, weight: 10 }, { name: bulk }]',
      Math.round(0.6 * most),
      Math.round(2 * most),
    );
    expect(gold.attainment).toBeGreaterThan(0.99);
    expect(bulk.goodputRps).toBeGreaterThan(0.97 * (most - gold.goodputRps!));
    expect(goodputRps).toBeGreaterThan(0.98 * most);
  });

  it.each([0.1, 0.3, 0.7])(
    'a class with a share of %f gets that much GPU time, however light',
    async (share) => {
      const most = await capacity();
      const classes = `[{ name: gold, weight: 100 }, { name: bulk, share: ${share} }]`;
      const { gold, bulk } = await summaryOf(classes, Math.round(2 * most), Math.round(2 * most));
      expect(bulk.gpuShare).toBeGreaterThan(share - 0.01);
      expect(bulk.gpuShare).toBeLessThan(share + 0.02);
      expect((gold.gpuShare ?? 0) + (bulk.gpuShare ?? 0)).toBeCloseTo(1, 9);
    },
  );

  it('a share that its class does not ask for goes to the others', async () => {
    const most = await capacity();
    const classes = '[{ name: gold, weight: 100 }, { name: bulk, share: 50% }]';
    const { gold, bulk } = await summaryOf(classes, Math.round(2 * most), Math.round(0.1 * most));
    expect(bulk.attainment).toBeGreaterThan(0.98);
    expect(gold.goodputRps).toBeGreaterThan(0.97 * (most - bulk.goodputRps!));
  });
});

it('a single class decides as no class does, whatever it weighs', async () => {
  const single = file('[{ name: gold, weight: 7 }]', 900, 300).replaceAll('class: bulk', 'class: gold');
  const none = single.replace(/classes: .*\n/, '').replaceAll(', class: gold', '');
  const digests = await Promise.all(
    [single, none].map(
      async (text) => (await simulate(await parseExperiment(text, 'one.yaml'))).summary.digest,
    ),
  );
  expect(digests[0]).toBe(digests[1]);
});
