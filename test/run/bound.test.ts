import { describe, expect, it } from 'vitest';
import { boundOf } from '../../src/run/bound.js';
import { simulate } from '../../src/run/simulated.js';
import { BASE, load } from '../config/experiment-files.js';

/** A run of two seconds that offers more than can be served. */
const OVERLOAD = ['workload.duration=2s', 'workload.rate=1500/s', 'slo=25ms', 'policy.scheduleAhead=5ms'];

const TWO_KINDS = `seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: csv, path: models.csv }
workload:
  - { name: users, kind: poisson, rate: 600/s, duration: 2s, slo: 15ms }
  - { name: batch, kind: poisson, rate: 900/s, duration: 2s, slo: 200ms }
policy: { kind: clockwork, scheduleAhead: 3ms }
`;

describe('against what schedulers reach', () => {
  it.each([
    ['clockwork', []],
    ['clockwork on two GPUs', ['cluster.gpus=2', 'workload.rate=3000/s']],
    ['clockwork at a tight SLO', ['slo=10ms']],
    ['fifo', ['policy={kind: fifo, maxDelay: 2ms}']],
    ['clockwork with a warm-up', ['warmup=500ms']],
    ['clockwork on a GPU that runs faster', ['cluster.gpuClock=[{at: 0s, factor: 1.3}]']],
  ])('%s serves no more', async (_, overrides) => {
    const experiment = await load(BASE, [...OVERLOAD, ...overrides]);
    const { summary } = await simulate(experiment);
    const { offeredRps, fluidRps, windowLimitedRps, pricedRps, timePricedRps, bestRps } =
      await boundOf(experiment);
    expect(offeredRps).toBe(summary.offeredRps);
    expect(bestRps).toBeGreaterThanOrEqual(summary.goodputRps!);
    expect(bestRps).toBe(Math.min(windowLimitedRps!, timePricedRps!));
    expect(timePricedRps).toBeLessThanOrEqual(pricedRps!);
    expect(windowLimitedRps).toBeLessThanOrEqual(fluidRps!);
    expect(fluidRps).toBeLessThanOrEqual(offeredRps!);
  });

  it('nor do they where SLOs differ within a model', async () => {
    const experiment = await load(TWO_KINDS);
    const { summary } = await simulate(experiment);
    const { bestRps, offeredRps } = await boundOf(experiment);
    expect(bestRps).toBeGreaterThanOrEqual(summary.goodputRps!);
    expect(bestRps).toBeLessThan(offeredRps!);
  });
});

describe('of pipelines', () => {
  const steps = [
    '{ id: crop, model: "0", fanOut: { kind: list, values: [0, 1, 2] } }',
    '{ model: "1", after: crop, probability: 50% }',
  ];
  const CHAIN = [
    `pipelines={ name: chain, slo: 50ms, steps: [${steps.join()}] }`,
    'workload={ kind: poisson, rate: 900/s, duration: 2s, models: [chain, "1"] }',
    'workload.slo=50ms',
    'policy={ kind: edf }',
  ];

  it.each([
    ['with slack', []],
    ['with equal parts', ['pipelines.split=equal']],
    ['with a warm-up and a slow network', ['warmup=500ms', 'cluster.network.delay=1ms']],
  ])('no run serves more: %s', async (_, overrides) => {
    const experiment = await load(BASE, [...CHAIN, ...overrides]);
    const { summary } = await simulate(experiment);
    const { offeredRps, fluidRps, windowLimitedRps, pricedRps, bestRps } = await boundOf(experiment, 0.5);
    expect(offeredRps).toBe(summary.offeredRps);
    expect(bestRps).toBeGreaterThanOrEqual(summary.goodputRps!);
    expect(bestRps).toBeLessThan(offeredRps!);
    expect([windowLimitedRps, pricedRps]).toEqual([bestRps, null]);
    expect(windowLimitedRps).toBeLessThanOrEqual(fluidRps!);
  });
});

it('counts the requests of a step as the lengths in a trace say, of which the run has as many', async () => {
  const lengths = [3, 0, '', 1, 400];
  const rows = lengths.map((length, i) => `${i * 5e8},chain,1,${length}`);
  const text = `${BASE.replace(/^workload.*$/m, '')}workload: { kind: arrivals, path: crops.csv, length: { kind: column } }
pipelines: { name: chain, steps: [{ model: "0", fanOut: { kind: length, mean: 2 } }] }
`;
  const files = { 'crops.csv': `arrival_ns,model_id,slo_ns,length\n${rows.join('\n')}\n` };
  const experiment = await load(text, ['policy={ kind: edf }', 'admission=none', 'slo=400ms'], files);
  const { summary } = await simulate(experiment);
  // More than a step can have count as the most.
  expect(summary.by.step![0]!.requests.offered).toBe(3 + 0 + 0 + 1 + 255);
  expect(summary.requests).toMatchObject({ offered: 5 });
  const seconds = summary.requests.offered / summary.offeredRps!;
  // In 400 ms 255 requests in batches of four, of 5.88 ms each, can be served.
  expect(Math.round((await boundOf(experiment)).bestRps! * seconds)).toBe(5);
});

describe('what it depends on', () => {
  it('are open-loop workloads: what closed-loop clients send depends on the answers', async () => {
    const workload = 'workload={kind: closed-loop, clients: 2, duration: 1s}';
    await expect(boundOf(await load(BASE, [workload]))).rejects.toMatchObject({
      code: 'E_CONFIG_VALUE',
      place: { key: 'workload.kind' },
    });
    const both = TWO_KINDS.replace(
      /.*name: batch.*/,
      '  - { kind: closed-loop, clients: 2, concurrency: 1, duration: 1s }',
    );
    await expect(boundOf(await load(both))).rejects.toMatchObject({ place: { key: 'workload.1.kind' } });
  });
});
