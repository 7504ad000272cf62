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

const T4 = { name: 't4', pricePerHour: null, startNs: 30 * S, minLifetimeNs: 0, min: 1, max: 4 };
const A10 = { ...T4, name: 'a10', min: 0, max: 2 };

/** An observer whose time and decisions the test gives, with what its scaler saw. Four GPUs, of which the first is there. */
function observed(answers: readonly (readonly number[])[], listed = [T4], kinds = ['simulated']) {
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
    kinds: listed,
    create: () => ({
      name: 'test',
      decide: (view: ScalingView) => {
        views.push(view);
        return { gpus: answers[views.length - 1], reason: `decision ${views.length}` };
      },
    }),
  };
  const clock = new Clock(time);
  const otherKinds = kinds.slice(1).map(() => ({ loadNs: 1e6, execNs: [0.5e6] }));
  const cluster = new Cluster({
    ...{ models: [{ ...MODEL, otherKinds }], gpus: 1, spareGpus: 3, pages: 4 },
    ...(kinds.length === 1
      ? {}
      : { kinds: kinds.map((_, kind) => ({ gpus: kind === 0 ? 1 : 0, pages: 4 })) }),
  });
  const log: (object | string)[] = [];
  const keep = (facts: object | string) => log.push(facts);
  const assembly = { clock, cluster: { kinds } } as unknown as Assembly;
  const observer = new ScalingObserver(scaling, assembly, registry, { info: keep, warn: keep } as never);
  observer.started({ core: { cluster, requests: new RequestTable() } } as LiveController);
  const advance = () => {
    nowNs += 10 * S;
    tick();
  };
  return { registry, advance, views, cluster, log, status: () => observer.status() };
}

it('the metric has the GPUs that are needed, with the reason, once there was a decision', async () => {
  const { registry, advance, log } = observed([[3], [9]]);
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
    { kind: 't4', gpus: 1, needed: 3, reason: 'decision 1' },
    { kind: 't4', gpus: 1, needed: 4, reason: 'decision 2' },
  ]);
});

it('GPUs that were asked for count as starting until they are there, or should have been', () => {
  const { advance, views, cluster } = observed([[3], [3], [3], [3], [3]]);
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

it('kinds are found by their names, and each is counted by itself', async () => {
  const { registry, advance, views, cluster, status, log } = observed(
    [
      [2, 2],
      [2, 2],
    ],
    [T4, A10],
    ['cpu', 'a10', 't4'],
  );
  expect(status()).toBeNull();
  cluster.setKind(1, 2);
  cluster.setUp(1, true);
  advance();
  expect(views[0].kinds.map(({ name, on, speed }) => [name, on, speed])).toEqual([
    ['t4', 1, 2],
    ['a10', 0, 2],
  ]);
  cluster.setKind(2, 1);
  cluster.setUp(2, true);
  advance();
  expect(views[1].kinds.map(({ on, starting }) => [on, starting])).toEqual([
    [1, 1],
    [1, 1],
  ]);
  const text = await registry.metrics();
  expect(text).toContain('escapement_gpus_needed{kind="t4"} 2');
  expect(text).toContain('escapement_gpus_needed{kind="a10"} 2');
  expect(status()).toEqual({
    gpus: [
      { kind: 't4', up: 1, needed: 2 },
      { kind: 'a10', up: 1, needed: 2 },
    ],
    reason: 'decision 2',
  });
  expect(log).toEqual([
    { kind: 't4', gpus: 1, needed: 2, reason: 'decision 1' },
    { kind: 'a10', gpus: 0, needed: 2, reason: 'decision 1' },
  ]);
});

it('kinds that no worker has are not asked for, and that is said', () => {
  const { advance, status, log } = observed([[1]], [T4, A10], ['t4']);
  expect(log).toEqual([expect.stringMatching(/^no worker has GPUs of kind a10, so none are requested: /)]);
  advance();
  expect(status()?.gpus).toEqual([{ kind: 't4', up: 1, needed: 1 }]);
  expect(() => observed([], [T4, A10], ['cpu'])).toThrow(
    /the scaler is for GPUs of kind t4, a10, and the workers have cpu: name those of the workers/,
  );
});
