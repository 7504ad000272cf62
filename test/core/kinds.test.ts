import { describe, expect, it } from 'vitest';
import { INFER } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import type { ModelSpec } from '../../src/core/model.js';
import { action, model } from './fixtures.js';

const MS = 1_000_000;

/** 3 ms on kind 0, 9 ms on kind 1, where it loads faster. */
function twoKinds(over: Partial<ModelSpec> = {}): ModelSpec {
  return model({ otherKinds: [{ loadNs: 6 * MS, execNs: [9 * MS, 15 * MS, 24 * MS] }], ...over });
}

/** GPU 0 of kind 0 with 10 pages, GPUs 1 and 2 of kind 1 with 20. */
function mixed(...models: ModelSpec[]): Cluster {
  const kinds = [
    { gpus: 1, pages: 10 },
    { gpus: 2, pages: 20 },
  ];
  return new Cluster({ models, gpus: 3, pages: 10, kinds });
}

describe('a cluster of several kinds of GPUs', () => {
  it('forgets a slow INFER on the kind that it makes too slow, though another is in time', () => {
    const cluster = mixed(twoKinds());
    for (const gpu of [0, 2])
      cluster.measuredExec({ ...action(0, INFER), gpu, beginNs: 0, endNs: (gpu === 0 ? 4 : 900) * MS });
    const fast = cluster.execNs(0, 0, 0);
    expect(cluster.latestStartNs(0, 1000 * MS, 950 * MS)).toBe(1000 * MS - fast);
    expect(cluster.execNs(1, 0, 0), 'measured lately').toBeGreaterThan(800 * MS);
    cluster.latestStartNs(0, 2950 * MS, 1950 * MS);
    expect(cluster.execNs(1, 0, 0), 'in time').toBeGreaterThan(800 * MS);
    cluster.latestStartNs(0, 2000 * MS, 1950 * MS);
    expect([cluster.execNs(0, 0, 0), cluster.execNs(1, 0, 0)]).toEqual([fast, 9 * MS]);
  });

  it('goes by the kinds whose GPUs are there', () => {
    const cluster = mixed(twoKinds());
    cluster.setUp(0, false);
    expect([cluster.nominalExecNs(0, 0), cluster.placesFor(0)]).toEqual([9 * MS, 2]);
    cluster.setUp(1, false);
    cluster.setUp(2, false);
    // Those that may come back count where none is there.
    expect([cluster.nominalExecNs(0, 0), cluster.placesFor(0)]).toEqual([3 * MS, 0]);
  });

  it('lets no model onto GPUs that are too small for it', () => {
    const cluster = mixed(twoKinds({ pages: 12 }));
    expect([0, 1, 2].map((gpu) => cluster.lacks(gpu, 0))).toEqual([false, true, true]);
    expect([cluster.placesFor(0), cluster.nominalExecNs(0, 0), cluster.loadNs(0)]).toEqual([
      2,
      9 * MS,
      6 * MS,
    ]);
    expect(() => mixed(twoKinds({ pages: 21 }))).toThrow('needs 21 pages and a GPU has 20');
  });

  it('lets no model onto GPUs that are too slow for all of its requests, unless all are', () => {
    const cluster = mixed(twoKinds());
    const suited = () => [0, 1].map((gpu) => cluster.suits(gpu, 0));
    cluster.offered(0, 2 * MS);
    expect(suited()).toEqual([true, true]);
    cluster.offered(0, 5 * MS);
    expect(suited()).toEqual([true, false]);
    cluster.offered(0, 4 * MS);
    expect(suited()).toEqual([true, false]);
    cluster.offered(0, 9 * MS);
    expect(suited()).toEqual([true, true]);
  });

  it('forgets what it knew of the model before in a slot', () => {
    const kinds = [
      { gpus: 1, pages: 10 },
      { gpus: 1, pages: 20 },
    ];
    const cluster = new Cluster({
      models: [twoKinds()],
      gpus: 2,
      pages: 10,
      kinds,
      spareModels: 1,
      spareBatch: 4,
    });
    expect(() => cluster.checkNew(model())).toThrow('model model: has no times for GPUs of kind 1');
    cluster.putModel(
      1,
      twoKinds({ pages: 12, batchSizes: [1], execNs: [7], otherKinds: [{ loadNs: 1, execNs: [5] }] }),
    );
    expect([0, 1].map((gpu) => cluster.execNs(gpu, 1, 0))).toEqual([7, 5]);
    expect([0, 1].map((gpu) => cluster.lacks(gpu, 1))).toEqual([false, true]);
  });

  it.each([
    ['a kind that was not measured', {}, 'has no times for GPUs of kind 1'],
    [
      'another number of batch sizes',
      { otherKinds: [{ loadNs: 1, execNs: [1] }] },
      'one execution time for each',
    ],
    ['a LOAD in no time', { otherKinds: [{ loadNs: 0, execNs: [1, 2, 3] }] }, 'load time must be'],
  ])('refuses a model with %s', (_, over, what) => {
    expect(() => mixed(model(over))).toThrow(what);
  });
});
