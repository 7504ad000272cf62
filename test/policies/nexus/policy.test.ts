import { describe, expect, it } from 'vitest';
import { model, models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** INFER takes 3, 5 and 8 ms at batch 1, 2 and 4. An epoch is 100 ms, the first 10. */
function nexus(given: Partial<HarnessOptions> = {}): PolicyHarness {
  return new PolicyHarness({
    policy: 'nexus',
    options: { maxBatch: 8, epoch: 100 * MS },
    models: models(3),
    ...given,
  });
}

function warm(given: Partial<HarnessOptions> = {}): PolicyHarness {
  const harness = nexus(given);
  harness.controller.gpuUp(0, [0, 1, 2]);
  return harness;
}

describe('nexus: before a plan', () => {
  it('sessions take turns, with the batches that would saturate a GPU', () => {
    const harness = warm({ options: { maxBatch: 8, epoch: 1000 * MS } });
    harness.arrive(0, [1]);
    harness.arrive(1, [2, 2, 2, 2, 2, 0, 0, 1]);
    const order = [3, 11, 16, 19].map((nowMs) => harness.end(nowMs)[0]);
    expect(order).toEqual([
      'INFER model 2 batch 4 on GPU 0',
      'INFER model 0 batch 2 on GPU 0',
      'INFER model 1 batch 1 on GPU 0',
      'INFER model 2 batch 1 on GPU 0',
    ]);
  });

  it('requests of a model with different SLOs do not share a batch', () => {
    const harness = warm();
    harness.offer(0, [0, 0], 100);
    expect(harness.arrive(0, [0, 0], 20)).toEqual(['INFER model 0 batch 2 on GPU 0']);
    expect(harness.end(5)).toEqual(['INFER model 0 batch 2 on GPU 0']);
    harness.end(10);
    expect(harness.answers.map((answer) => answer.split(' ')[1])).toEqual(['0', '1', '2', '3']);
  });
});

describe('nexus: SLOs', () => {
  it('drops early what would spoil a batch: it times out at its deadline, though it alone could be in time', () => {
    const harness = warm({ sloNs: 16 * MS });
    harness.arrive(0, [1, 1, 1, 1]);
    harness.arrive(0.5, [0]);
    harness.arrive(7, [0, 0, 0]);
    // At 9 ms, four requests take until 17 ms, beyond 16.5: the first is dropped, three take as long.
    expect(harness.end(9)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.outstanding[0].count).toBe(3);
    harness.settle(9.5, 20);
    expect(harness.answers.filter((answer) => /request [4-7]/.test(answer))).toEqual([
      'request 4 timeout at 16.5',
      'request 5 ok at 18.5',
      'request 6 ok at 18.5',
      'request 7 ok at 18.5',
    ]);
  });
});

describe('nexus: plans', () => {
  /** Three requests for each of two models within 10 ms: 300/s, of which a GPU has time for one. */
  function busy(given: Partial<HarnessOptions> = {}): PolicyHarness {
    const harness = warm({ gpus: 2, sloNs: 20 * MS, ...given });
    harness.arrive(0, [0, 1]);
    for (const nowMs of [3, 6]) {
      harness.end(nowMs);
      harness.arrive(nowMs, [0, 1]);
    }
    return harness;
  }

  it('the first is made after a tenth of an epoch: models go where the plan wants them', () => {
    const harness = busy();
    expect(harness.end(9.9)).toEqual(['INFER model 1 batch 2 on GPU 0']);
    expect(harness.step(10)).toEqual(['LOAD model 1 on GPU 1']);
  });

  it('what is warm stays where it is', () => {
    const harness = busy();
    harness.settle(10, 40);
    expect(harness.controller.cluster.held.has(1, 1)).toBe(true);
    for (let nowMs = 41; nowMs < 250; nowMs += 3) {
      harness.settle(nowMs, nowMs + 1);
      const sent = harness.arrive(nowMs + 2, [0, 1]);
      expect(sent.filter((action) => !action.startsWith('INFER'))).toEqual([]);
    }
  });

  it('what is not planned for goes only where its pages are needed, least recently used first', () => {
    const roomy = nexus({ gpus: 2, sloNs: 20 * MS, pages: 6 });
    roomy.controller.gpuUp(0, [0, 1]);
    roomy.controller.gpuUp(1, [2]);
    roomy.arrive(0, [0, 1, 0, 1, 0, 1]);
    expect(roomy.step(10)).toEqual(['LOAD model 1 on GPU 1']);

    const full = nexus({ gpus: 2, sloNs: 20 * MS, pages: 4, models: models(4) });
    full.controller.gpuUp(0, [0, 1]);
    full.controller.gpuUp(1, [2, 3]);
    full.arrive(0, [0, 1, 0, 1, 0, 1]);
    expect(full.step(10)).toEqual(['UNLOAD model 2 on GPU 1', 'LOAD model 1 on GPU 1']);
  });

  it('evicts nothing while what runs leaves too little room', () => {
    const harness = nexus({ pages: 4, sloNs: 30 * MS, models: [...models(2), model({ pages: 4 })] });
    harness.controller.gpuUp(0, [0, 1]);
    harness.arrive(0, [0]);
    harness.arrive(1, [2, 2, 2, 2, 2, 2, 2, 2, 0]);
    for (const nowMs of [3, 6, 9]) {
      expect(harness.end(nowMs)).toEqual(['INFER model 0 batch 1 on GPU 0']);
      expect(harness.arrive(nowMs + 2, [0])).toEqual([]);
    }
    expect(harness.end(12)).toEqual([
      'UNLOAD model 1 on GPU 0',
      'UNLOAD model 0 on GPU 0',
      'LOAD model 2 on GPU 0',
    ]);
  });

  it('a part goes where its models fit, even if another GPU holds as much of it', () => {
    const kinds = [4, 8].map((pages) => ({ gpus: 1, pages }));
    const harness = nexus({
      gpus: 2,
      kinds,
      models: models(4).map((spec) => ({ ...spec, otherKinds: [spec] })),
    });
    harness.controller.gpuUp(0, [0, 1]);
    harness.controller.gpuUp(1, [2, 3]);
    harness.arrive(0, [0, 1, 2, 3]);
    expect(harness.step(10)).toEqual(['LOAD model 0 on GPU 1']);
  });
});
