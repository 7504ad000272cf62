import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Models of 2 pages with INFERs of 3, 5 and 8 ms at batch 1, 2 and 4; GPUs that hold what `held` says. */
function alpaserve(
  held: readonly (readonly number[])[],
  cluster: Partial<HarnessOptions> = {},
  options: Record<string, number> = {},
): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'alpaserve-sr',
    options: { maxBatch: 8, window: 1000 * MS, margin: 0, ...options },
    models: models(5),
    gpus: held.length,
    pages: 6,
    ...cluster,
  });
  for (const [gpu, present] of held.entries()) harness.controller.gpuUp(gpu, present);
  harness.step(0);
  return harness;
}

describe('alpaserve-sr: queues', () => {
  it('what would end late is rejected at once, and only that', () => {
    const harness = alpaserve([[0, 1, 2]]);
    harness.arrive(0, [0]);
    harness.arrive(1, [1]);
    // The GPU is free at 6.
    harness.arrive(2, [2], 6.999);
    expect(harness.answers).toEqual(['request 2 rejected at 2']);
    harness.arrive(2, [2], 7);
    harness.end(3);
    harness.end(6);
    harness.end(9);
    expect(harness.answers.at(-1)).toBe('request 3 ok at 9');
  });
});

describe('alpaserve-sr: placements', () => {
  /** Requests for the models one after another, each served, until the first window, of 100 ms, is over. */
  function firstWindow(harness: PolicyHarness, wanted: readonly number[]): string[] {
    for (const [i, model] of wanted.entries()) {
      harness.arrive(i * 10, [model], 20);
      harness.settle(i * 10 + 1, i * 10 + 9);
    }
    harness.step(99);
    expect(harness.controller.nextWakeNs(99 * MS)).toBe(100 * MS);
    return harness.step(100);
  }

  it('what was rejected takes the pages of what has no requests', () => {
    const harness = alpaserve([[0, 1, 2]]);
    expect(firstWindow(harness, [0, 1, 3, 3])).toEqual(['UNLOAD model 2 on GPU 0', 'LOAD model 3 on GPU 0']);
  });

  it('a model in use goes only when what waits for it there has been served', () => {
    const harness = alpaserve([[0, 1, 2]]);
    for (let i = 0; i < 4; i++) harness.arrive(i * 10, [3, 3, 3, 4, 4, 4]);
    for (let i = 0; i < 3; i++) {
      harness.arrive(50 + i * 10, [0, 0]);
      harness.settle(51 + i * 10, 59 + i * 10);
    }
    // Of the rest, 1 and 2 are the first to go; a request for 1 runs, another waits.
    harness.arrive(97, [1]);
    harness.arrive(98, [1]);
    expect(harness.step(100)).toEqual(['UNLOAD model 2 on GPU 0', 'LOAD model 3 on GPU 0']);
    harness.finish(108, 'UNLOAD');
    expect(harness.end(108, 'LOAD model 3')).toEqual([]);
    harness.arrive(108, [1]);
    expect(harness.answers.at(-1)).toMatch(/rejected at 108$/);
    expect(harness.end(109, 'INFER')).toEqual(['INFER model 1 batch 1 on GPU 0']);
    expect(harness.end(112, 'INFER')).toEqual(['UNLOAD model 1 on GPU 0', 'LOAD model 4 on GPU 0']);
  });

  it('a model that one GPU is not enough for gets another replica', () => {
    const harness = alpaserve([[0], []]);
    for (let nowMs = 0; nowMs < 100; nowMs++) {
      harness.arrive(nowMs, [0]);
      harness.settle(nowMs, nowMs);
    }
    expect(harness.step(100)).toContain('LOAD model 0 on GPU 1');
  });

  it('is renewed when a GPU goes, with what is known of the traffic', () => {
    const harness = alpaserve([[0, 1, 2], [3]], { pages: 6 });
    firstWindow(harness, [0, 1, 2, 3, 0, 1, 2, 3]);
    harness.lose(1, 150);
    // All pages of GPU 0 are taken, by models that are wanted as much.
    expect(harness.step(150)).toEqual([]);
    harness.lose(0, 160);
    harness.controller.gpuUp(1, [4]);
    expect(harness.step(160)).toEqual(['LOAD model 0 on GPU 1']);
    harness.settle(161, 200);
    expect([0, 1, 2].map((model) => harness.controller.cluster.warm.has(model, 1))).toEqual([
      true,
      true,
      true,
    ]);
  });
});
