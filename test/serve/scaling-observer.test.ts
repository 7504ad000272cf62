import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Clock } from '../../src/base/clock/clock.js';
import { Cluster } from '../../src/core/cluster.js';
import { RequestTable } from '../../src/core/request.js';
import type { ScalingView } from '../../src/core/scaler.js';
import type { LiveController } from '../../src/live/controller/live-controller.js';
import type { Assembly } from '../../src/serve/cluster.js';
import { ScalingObserver } from '../../src/serve/scaling-observer.js';

const S = 1e9;
const MODEL = {
  ...{ name: 'm', weightsBytes: 1, pages: 1, loadNs: 1e6, batchSizes: [1], execNs: [1e6] },
  ...{ inputBytes: 1, outputBytes: 1 },
};

/** An observer whose time and decisions the test gives, with what its scaler saw. */
function observed(answers: readonly number[]) {
  let nowNs = 0;
  let tick = () => {};
  const views: ScalingView[] = [];
  const timer = { cancel: () => {}, unref: () => timer };
  const time = {
    ...{ monotonicNs: () => nowNs, after: () => timer, soon: () => {} },
    every: (_ms: number, run: () => void) => {
      tick = run;
      return timer;
    },
  };
  const registry = new Registry();
  const scaling = {
    intervalNs: 10 * S,
    kinds: [{ name: 't4', pricePerHour: null, startNs: 30 * S, min: 1, max: 4 }],
    create: () => ({
      name: 'test',
      decide: (view: ScalingView) => {
        views.push(view);
        return { gpus: [answers[views.length - 1]], reason: `decision ${views.length}` };
      },
    }),
  };
  const clock = new Clock(time);
  const cluster = new Cluster({ models: [MODEL], gpus: 1, spareGpus: 3, pages: 4 });
  const log: object[] = [];
  const observer = new ScalingObserver(scaling, { clock } as Assembly, registry, {
    info: (facts: object) => log.push(facts),
  } as never);
  observer.started({ core: { cluster, requests: new RequestTable() } } as LiveController);
  const advance = () => {
    nowNs += 10 * S;
    tick();
  };
  return { registry, advance, views, cluster, log };
}

it('the metric has the GPUs that are needed, with the reason, once there was a decision', async () => {
  const { registry, advance, log } = observed([3, 9]);
  expect(await registry.metrics()).not.toMatch(/^escapement_gpus_needed/m);
  advance();
  const text = await registry.metrics();
  expect(text).toContain('escapement_gpus_needed{kind="t4"} 3');
  expect(text).toContain('escapement_gpus_needed_reason{reason="decision 1"} 1');
  advance();
  const later = await registry.metrics();
  expect(later, 'not beyond max').toContain('escapement_gpus_needed{kind="t4"} 4');
  expect(later).not.toContain('decision 1');
  expect(log).toEqual([
    { gpus: 1, needed: 3, reason: 'decision 1' },
    { gpus: 1, needed: 4, reason: 'decision 2' },
  ]);
});

it('GPUs that were asked for count as starting until they are there, or should have been', () => {
  const { advance, views, cluster } = observed([3, 3, 3, 3, 3]);
  advance();
  advance();
  cluster.setUp(1, true);
  advance();
  advance();
  expect(views.map(({ kinds }) => [kinds[0].on, kinds[0].starting])).toEqual([
    [1, 0],
    [1, 2],
    [2, 1],
    [2, 0],
  ]);
});
