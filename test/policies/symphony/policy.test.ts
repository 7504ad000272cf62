import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../../src/core/model.js';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Three models, warm on one GPU: 3, 5 and 8 ms at batch 1, 2 and 4. SLO 20 ms. */
function symphony(cluster: Partial<HarnessOptions> = {}, margin = 0): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'symphony',
    options: { maxBatch: 8, margin },
    models: models(3),
    sloNs: 20 * MS,
    ...cluster,
  });
  if (cluster.gpus === undefined) harness.controller.gpuUp(0, [0, 1, 2]);
  return harness;
}

function wakeMs(harness: PolicyHarness, nowMs: number): number {
  return harness.controller.nextWakeNs(nowMs * MS) / MS;
}

describe('symphony: deferral', () => {
  it('holds a request until a second could no longer join, though the GPU idles', () => {
    const harness = symphony();
    expect(harness.arrive(0, [0])).toEqual([]);
    // 20 ms less the 5 ms of two.
    expect(wakeMs(harness, 0)).toBe(15);
    expect(harness.step(14.999)).toEqual([]);
    expect(harness.step(15)).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });

  it('holds two only until a third could no longer join, which would make it a batch of four', () => {
    const harness = symphony();
    harness.arrive(0, [0]);
    expect(harness.arrive(5, [0])).toEqual([]);
    expect(wakeMs(harness, 5)).toBe(12);
    expect(harness.step(12)).toEqual(['INFER model 0 batch 2 on GPU 0']);
  });
});

describe('symphony: matching', () => {
  it('a GPU that becomes free takes what must start first among what is ready', () => {
    const harness = symphony();
    harness.arrive(0, [0, 0, 0, 0]);
    expect(harness.arrive(1, [1, 1, 1, 1], 40)).toEqual([]);
    expect(harness.arrive(2, [2, 2, 2, 2], 20)).toEqual([]);
    expect(harness.end(8)).toEqual(['INFER model 2 batch 4 on GPU 0']);
    expect(harness.end(16)).toEqual(['INFER model 1 batch 4 on GPU 0']);
  });

  it('what waited too long for a GPU goes in the largest batch that its oldest request still allows', () => {
    const harness = symphony();
    harness.arrive(0, [0, 0, 0, 0]);
    harness.arrive(1, [1, 1, 1, 1], 13);
    // From 8 ms on, two can end by 14 ms and four can't.
    expect(harness.end(8)).toEqual(['INFER model 1 batch 2 on GPU 0']);
  });

  it('a request that can no longer be met is given up, and those behind it are held again', () => {
    const harness = symphony();
    harness.arrive(0, [0, 0, 0, 0]);
    harness.arrive(0, [1], 8);
    harness.arrive(4, [1]);
    harness.step(5);
    expect(harness.answers).toEqual([]);
    harness.step(5.000001);
    expect(harness.answers).toEqual(['request 4 timeout at 5.000001']);
    expect(harness.end(8)).toEqual([]);
    expect(harness.step(19)).toEqual(['INFER model 1 batch 1 on GPU 0']);
  });
});

describe('on two kinds of GPUs', () => {
  const { execNs, loadNs } = models(1)[0] as ModelSpec;
  const slow = { loadNs, execNs: execNs.map((ns) => 50 * ns) };

  it.each([
    ['slow', 'fast'],
    ['fast', 'slow'],
  ])('%s and %s, batches are held and run where they are in time', (first) => {
    const fast = { loadNs, execNs };
    const [own, other] = first === 'slow' ? [slow, fast] : [fast, slow];
    const harness = new PolicyHarness({
      policy: 'symphony',
      options: { maxBatch: 8, margin: 0 },
      models: models(1, { ...own, otherKinds: [other] }),
      gpus: 2,
      kinds: [
        { gpus: 1, pages: 100 },
        { gpus: 1, pages: 100 },
      ],
    });
    for (const gpu of [0, 1]) harness.controller.gpuUp(gpu, [0]);
    for (let nowMs = 0; nowMs < 1000; nowMs += 50) {
      harness.offer(nowMs, [0]);
      harness.settle(nowMs, nowMs + 49);
    }
    harness.settle(1000, 1200);
    expect(harness.answers.filter((answer) => answer.includes(' ok '))).toHaveLength(20);
  });
});
