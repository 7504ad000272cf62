import { describe, expect, it } from 'vitest';
import { STATUS_ABORTED } from '../../../src/core/action.js';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Three models, warm on each GPU: 3, 5 and 8 ms at batch 1, 2 and 4. */
function shepherd(
  { warm = [0, 1, 2], ...cluster }: Partial<HarnessOptions> & { readonly warm?: readonly number[] } = {},
  options: Record<string, number> = {},
): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'shepherd',
    options: { maxBatch: 8, preemption: 3.03, period: 10_000 * MS, margin: 0, ...options },
    models: models(3),
    ...cluster,
  });
  for (let gpu = 0; gpu < (cluster.gpus ?? 1); gpu++) harness.controller.gpuUp(gpu, warm);
  return harness;
}

describe('shepherd: batches', () => {
  it('runs the batch that meets the most deadlines, of equals the one with the earliest', () => {
    const harness = shepherd();
    harness.arrive(0, [0]);
    harness.arrive(1, [1], 60);
    harness.arrive(1, [2, 2], 90);
    harness.arrive(2, [1], 90);
    expect(harness.end(3)).toEqual(['INFER model 1 batch 2 on GPU 0']);
    expect(harness.end(8)).toEqual(['INFER model 2 batch 2 on GPU 0']);
  });

  it('passes over requests that would not allow for the largest batch', () => {
    const harness = shepherd();
    harness.arrive(0, [0]);
    harness.arrive(0, [1], 7);
    harness.arrive(1, [1, 1, 1], 50);
    // From 3 ms on, the first can be met only by itself.
    expect(harness.end(3)).toEqual(['INFER model 1 batch 4 on GPU 0']);
    expect(harness.outstanding[0].count).toBe(3);
    harness.step(4.000001);
    expect(harness.answers).toContain('request 1 timeout at 4.000001');
  });
});

describe('shepherd: preemption', () => {
  it('a batch that is 3.03 times as large replaces a running one, whose requests wait again', () => {
    const harness = shepherd();
    harness.arrive(0, [0]);
    expect(harness.arrive(1, [1, 1, 1])).toEqual([]);
    expect(harness.arrive(1, [1])).toEqual(['ABORT model 0 on GPU 0']);
    expect(harness.end(1, 'ABORT')).toEqual([]);
    expect(harness.end(2, 'INFER', STATUS_ABORTED)).toEqual(['INFER model 1 batch 4 on GPU 0']);
    expect(harness.end(10)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    harness.end(13);
    expect(harness.answers.at(-1)).toBe('request 0 ok at 13');
  });

  it('requests of its own model join what it runs in a larger batch', () => {
    const harness = shepherd();
    harness.arrive(0, [0]);
    expect(harness.arrive(1, [0, 0])).toEqual([]);
    expect(harness.arrive(1, [0])).toEqual(['ABORT model 0 on GPU 0']);
    harness.end(1, 'ABORT');
    expect(harness.end(1, 'INFER', STATUS_ABORTED)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.outstanding[0].count).toBe(4);
  });

  it('knows from the last time what it takes, and lets end what ends as soon', () => {
    const harness = shepherd();
    harness.arrive(0, [0]);
    harness.arrive(1, [1, 1, 1, 1]);
    harness.end(1, 'ABORT');
    harness.end(2, 'INFER', STATUS_ABORTED);
    expect(harness.end(10)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.arrive(12, [1, 1, 1, 1])).toEqual([]);
    expect(harness.end(13)).toEqual(['INFER model 1 batch 4 on GPU 0']);
    // A batch of one begins at 21: at 22 the 1 ms is still worth it.
    harness.end(21);
    harness.arrive(21, [0]);
    expect(harness.arrive(22, [2, 2, 2, 2])).toEqual(['ABORT model 0 on GPU 0']);
  });
});

describe('shepherd: groups', () => {
  /** Two GPUs with room for two models each. */
  const TWO_GROUPS = { gpus: 2, pages: 4, models: models(4) };

  function grouped(period = 10_000 * MS): PolicyHarness {
    return new PolicyHarness({
      policy: 'shepherd',
      options: { maxBatch: 8, preemption: 3.03, period, margin: 0 },
      ...TWO_GROUPS,
    });
  }

  it('a model that was dealt to another group is served where it is until it is there, too', () => {
    const harness = grouped(50 * MS);
    harness.controller.gpuUp(0, [0, 2]);
    harness.controller.gpuUp(1, [1]);
    for (let nowMs = 0; nowMs < 40; nowMs += 20) {
      harness.arrive(nowMs, [0, 0, 2]);
      harness.settle(nowMs, nowMs + 19);
    }
    const sent = harness.arrive(50, [2]);
    expect(sent).toEqual(['LOAD model 2 on GPU 1', 'INFER model 2 batch 1 on GPU 0']);
    harness.settle(51, 70);
    expect(harness.arrive(71, [2])).toEqual(['INFER model 2 batch 1 on GPU 1']);
  });
});
