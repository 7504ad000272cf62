import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INFER } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import { predictLatencyNs } from '../../src/core/prediction.js';
import { action, model } from './fixtures.js';

const MS = 1_000_000;

/** Two GPUs; the model runs 3, 5 and 8 ms at batch 1, 2 and 4 and loads in 8 ms. */
function cluster(): Cluster {
  return new Cluster({ models: [model(), model({ name: 'other' })], gpus: 2, pages: 10 });
}

function warm(on: Cluster, gpu: number): void {
  on.held.add(0, gpu);
  on.warm.add(0, gpu);
}

describe('predictLatencyNs', () => {
  it('lets the requests before it go in the batches that serve them fastest, over all copies', () => {
    const crowded = cluster();
    warm(crowded, 0);
    expect(predictLatencyNs(crowded, 0, 8, 0)).toBe(4 * MS + 2 * 8 * MS);
    warm(crowded, 1);
    expect(predictLatencyNs(crowded, 0, 8, 0)).toBe(4 * MS + 8 * MS);
  });

  it('lets a copy that is being loaded help with them', () => {
    const crowded = cluster();
    warm(crowded, 0);
    crowded.held.add(0, 1);
    expect(predictLatencyNs(crowded, 0, 8, 0)).toBe(4 * MS + 8 * MS);
  });

  it('waits for a queue that fills a batch, and joins one that does not', () => {
    const joined = cluster();
    warm(joined, 0);
    expect(predictLatencyNs(joined, 0, 3, 0)).toBe(4 * MS);
    expect(predictLatencyNs(joined, 0, 4, 0)).toBe(4 * MS + 8 * MS);
  });

  it('is never while all GPUs are gone', () => {
    const gone = cluster();
    for (let gpu = 0; gpu < gone.gpus; gpu++) gone.setUp(gpu, false);
    expect(predictLatencyNs(gone, 0, 0, 0)).toBe(Number.POSITIVE_INFINITY);
  });
});

it('looks at every GPU as far as that matters: random clusters against all GPUs one by one', () => {
  const gpus = 6;
  const ms = fc.nat(3);
  const gpu = fc.record({
    ...{ execMs: ms, weightsMs: ms, clock: fc.constantFrom(0.5, 1, 1.25) },
    ...{ isUp: fc.boolean(), isWarm: fc.boolean() },
  });
  fc.assert(
    fc.property(fc.array(gpu, { minLength: gpus, maxLength: gpus }), (all) => {
      const on = new Cluster({ models: [model()], gpus, pages: 10 });
      for (const [gpu, { execMs, weightsMs, clock, isUp, isWarm }] of all.entries()) {
        if (execMs > 0 && isUp) on.exec[gpu].add(1, execMs * MS, 0);
        if (weightsMs > 0 && isUp) on.weights[gpu].add(2, weightsMs * MS, 0);
        if (isWarm && isUp) warm(on, gpu);
        // It reports its clock, and that a batch of one still takes 3 ms at the nominal one.
        const endNs = (3 * MS) / clock;
        on.measuredExec(Object.assign(action(gpu, INFER), { gpu, model: 0, beginNs: 0, endNs, clock }));
        if (!isUp) on.setUp(gpu, false);
      }
      const least = (candidates: typeof all, freeMs: (gpu: (typeof all)[number]) => number) =>
        Math.min(...candidates.map((gpu) => Math.max(1, freeMs(gpu)) * MS + (3 * MS) / gpu.clock));
      const up = all.filter(({ isUp }) => isUp);
      const holders = up.filter(({ isWarm }) => isWarm);
      const warmNs = least(holders, ({ execMs }) => execMs);
      const coldNs = least(up, ({ weightsMs }) => weightsMs) + 8 * MS;
      expect(predictLatencyNs(on, 0, 0, 0)).toBe(holders.length > 0 ? warmNs : coldNs);
    }),
  );
});
