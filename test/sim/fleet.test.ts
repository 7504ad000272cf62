import { describe, expect, it } from 'vitest';
import { Cluster } from '../../src/core/cluster.js';
import { Fleet, lossOf } from '../../src/sim/fleet.js';
import { models } from '../core/fixtures.js';

const S = 1e9;

/** A fleet of up to three GPUs, one of which is on, that take 5 s to start; `wish` is what its scaler wants next. */
function fleetOf() {
  const started: { gpu: number; readyNs: number; order: number }[] = [];
  const drained: number[] = [];
  const scaler = { wish: 1 };
  const fleet = new Fleet(
    {
      kinds: [{ gpus: 3, on: 1, startNs: 5 * S, minLifetimeNs: 0 }],
      ...{ intervalNs: S, untilNs: 100 * S, observers: [] },
      decide: () => ({ gpus: [scaler.wish], reason: '' }),
    },
    {
      start: (gpu, readyNs, order) => started.push({ gpu, readyNs, order }),
      drain: (gpu) => drained.push(gpu),
      stop: () => {},
      // The one with the least to lose goes first.
      lossOf: (gpu) => [2, 1, 3][gpu],
    },
  );
  const want = (gpus: number, seconds: number) => {
    scaler.wish = gpus;
    fleet.scale(seconds * S);
  };
  return { fleet, want, started, drained };
}

describe('a fleet', () => {
  it('has no GPU from an order that was called off, though it was ordered again', () => {
    const { fleet, want, started } = fleetOf();
    want(2, 1);
    want(1, 2);
    want(2, 3);
    expect(started.map(({ gpu, readyNs }) => [gpu, readyNs])).toEqual([
      [1, 6 * S],
      [1, 8 * S],
    ]);
    const [first, second] = started;
    expect(fleet.ready(first.gpu, first.order, first.readyNs)).toBe(false);
    expect(fleet.counts()).toEqual([{ on: 1, starting: 1, draining: 0 }]);
    expect(fleet.ready(second.gpu, second.order, second.readyNs)).toBe(true);
    expect(fleet.counts()).toEqual([{ on: 2, starting: 0, draining: 0 }]);
  });

  it('stops the GPUs with the least to lose', () => {
    const { fleet, want, started, drained } = fleetOf();
    want(3, 1);
    for (const { gpu, order, readyNs } of started) fleet.ready(gpu, order, readyNs);
    want(1, 10);
    expect(drained).toEqual([1, 0]);
  });
});

it('a GPU is a loss for its work, and for the models that only it has', () => {
  const cluster = new Cluster({ models: models(2, { loadNs: 8e6 }), gpus: 2, pages: 10 });
  expect([lossOf(cluster, 0), lossOf(cluster, 1)]).toEqual([0, 0]);
  cluster.warm.add(0, 0);
  cluster.warm.add(0, 1);
  cluster.warm.add(1, 1);
  expect([lossOf(cluster, 0), lossOf(cluster, 1)]).toEqual([0, 8e6]);
});
