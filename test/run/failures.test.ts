import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { live } from '../../src/run/live.js';
import { run } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';

const experiment = (failures: string, gpus = '[{ kind: a, count: 2, price: 3/h }]') =>
  parseExperiment(
    `cluster: { gpus: ${gpus}, failures: [${failures}] }
models: { kind: zoo, varieties: 3 }
workload: { kind: fixed, rate: 100/s, duration: 10s }
slo: 100ms`,
    'fails.yaml',
  );

it('is paid for while it is gone, unless it is not billed', async () => {
  const costOf = async (failures: string) =>
    (await simulate(await experiment(failures))).summary.cost?.perHour;
  expect(await costOf('')).toBe(6);
  expect(await costOf('{ at: 2s, gpu: 1, for: 5s }')).toBeCloseTo(6, 9);
  expect(await costOf('{ at: 2s, gpu: 1, for: 5s, billed: false }')).toBeCloseTo(6 - 1.5, 9);
  // Only what lies within the run counts.
  expect(await costOf('{ at: 6s, gpu: 1, for: forever, billed: false }')).toBeCloseTo(6 - 1.2, 9);
});

it('is an event of the run, as is a slow one', async () => {
  const { events, fleet, summary } = await simulate(
    await experiment('{ at: 2s, gpu: 1, for: 5s }, { at: 3s, gpu: 0, for: 1s, slowdown: 9 }'),
  );
  expect(events).toContainEqual({ atSeconds: 2, kind: 'GPU lost', text: 'GPU 1 is gone until 7 s' });
  expect(events).toContainEqual({
    ...{ atSeconds: 3, kind: 'GPU slow', text: 'INFERs on GPU 0 take 9 times as long until 4 s' },
    slow: { gpu: 0, untilSeconds: 4, times: 9 },
  });
  expect(events).toHaveLength(2);
  expect(fleet?.steps.map(({ on }) => on[0])).toEqual([2, 1, 2]);
  expect(summary.scaling).toBeUndefined();
});

it('is refused with a scaler, and live', async () => {
  for (const failure of ['{ at: 2s, gpu: 1, for: 5s }', '{ at: 3s, gpu: 0, for: 1s, slowdown: 9 }'])
    await expect(run(await experiment(failure), live())).rejects.toThrow(
      'cluster.failures: GPUs fail as planned only in simulations',
    );
  const scaled = parseExperiment(
    `cluster: { gpus: [{ kind: a, count: 2 }], failures: [{ rate: 1/h, repair: 1s }] }
models: { kind: zoo }
workload: { kind: poisson, rate: 1/s, duration: 1s }
scaler: { kind: reactive }`,
    'scaled.yaml',
  );
  await expect(scaled).rejects.toThrow('cluster.failures: needs a fixed number of GPUs');
});
