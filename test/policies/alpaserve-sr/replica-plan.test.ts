import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/core/cluster.js';
import { ReplicaPlan } from '../../../src/policies/alpaserve-sr/replica-plan.js';
import { Traffic } from '../../../src/policies/alpaserve-sr/traffic.js';
import { models } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';

const WINDOW_NS = 10_000 * MS;

interface Case {
  readonly gpus?: number;
  readonly pages?: number;
  /** Requests per second of each model, all with the same SLO. */
  readonly rates: readonly number[];
  readonly sloMs?: number;
  readonly prepare?: (cluster: Cluster) => void;
}

/** Models of 2 pages, each request of which takes 3 ms. Returns the models of each GPU in order. */
function planFor({ gpus = 2, pages = 4, rates, sloMs = 30, prepare }: Case): (readonly number[])[] {
  const cluster = new Cluster({ models: models(rates.length), gpus, pages });
  prepare?.(cluster);
  const traffic = new Traffic(rates.length, WINDOW_NS, WINDOW_NS);
  for (const [model, rate] of rates.entries()) {
    for (let i = 0; i < rate * 10; i++) traffic.add(model, sloMs * MS, 0);
  }
  traffic.close(traffic.endNs);
  const plan = new ReplicaPlan(cluster, traffic, WINDOW_NS);
  // A second time from what the first left behind.
  plan.make();
  plan.make();
  return [...plan.chosen];
}

describe('ReplicaPlan', () => {
  it('a model gets another replica where that saves requests', () => {
    // At load 0.9 with room for ten, 5 % are lost; spread over two GPUs next to none.
    expect(planFor({ rates: [300, 0] })).toEqual([[0], [0]]);
  });

  it('memory bounds it: where not all have room, those with the most requests do', () => {
    expect(planFor({ gpus: 1, rates: [10, 40, 20, 30] })).toEqual([[1, 3]]);
  });

  it('what is in place stays there, unless another GPU is much less utilised', () => {
    const onLast = (cluster: Cluster) => {
      cluster.held.add(0, 1);
      cluster.held.add(1, 1);
    };
    expect(planFor({ rates: [30, 10], prepare: onLast })).toEqual([[], [0, 1]]);
    expect(planFor({ rates: [100, 90], prepare: onLast })).toEqual([[1], [0]]);
  });

  it('under overload serves as many as it can', () => {
    const plan = planFor({ pages: 2, rates: [1000, 900, 800] });
    expect(plan).toEqual([[0], [1]]);
  });
});

describe('Traffic', () => {
  it('is that of one window, which begins with a request', () => {
    const traffic = new Traffic(2, 1000 * MS, 100 * MS);
    expect(traffic.endNs).toBe(Number.POSITIVE_INFINITY);
    traffic.add(0, 10 * MS, 50 * MS);
    traffic.add(0, 30 * MS, 60 * MS);
    expect(traffic.endNs).toBe(150 * MS);
    traffic.close(150 * MS);
    expect([[...traffic.rateRps], [...traffic.sloNs]]).toEqual([
      [20, 0],
      [20 * MS, 0],
    ]);
    expect(traffic.endNs).toBe(Number.POSITIVE_INFINITY);
    traffic.add(1, 10 * MS, 300 * MS);
    expect(traffic.endNs).toBe(1300 * MS);
  });
});
