import { describe, expect, it } from 'vitest';
import { model, models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

interface Setting {
  readonly aheadMs?: number;
  readonly sloMs?: number;
  readonly options?: Readonly<Record<string, number>>;
  readonly cluster?: Partial<HarnessOptions>;
}

/** One GPU and two models unless given: LOAD 8 ms, INFER 3, 5 and 8 ms at batch 1, 2 and 4. */
function clockwork({ aheadMs = 10, sloMs = 100, options = {}, cluster = {} }: Setting = {}): PolicyHarness {
  return new PolicyHarness({
    policy: 'clockwork',
    options: { scheduleAhead: aheadMs * MS, maxBatch: 8, maxExec: 250 * MS, ...options },
    models: models(2),
    sloNs: sloMs * MS,
    ...cluster,
  });
}

/** The same at 100 ms, with both models warm on every GPU and nothing waiting. */
function warmed(setting: Setting = {}): PolicyHarness {
  const harness = clockwork(setting);
  const { warm, gpus } = harness.controller.cluster;
  harness.arrive(0, [0]);
  harness.settle(1, 49);
  harness.arrive(50, [1]);
  harness.settle(51, 99);
  expect([warm.count(0), warm.count(1), harness.controller.requests.size]).toEqual([gpus, gpus, 0]);
  harness.answers.length = 0;
  return harness;
}

describe('clockwork INFER: windows', () => {
  it('a first request loads its model, then runs, with latest = expected start + latest_delta', () => {
    const harness = clockwork();
    expect(harness.arrive(0, [0])).toEqual(['LOAD model 0 on GPU 0']);
    expect(harness.lastPlan).toEqual({ earliest: 0, latest: 11, expectedEnd: 9 });
    expect(harness.end(8)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.lastPlan).toEqual({ earliest: 8, latest: 19, expectedEnd: 12 });
    harness.end(11);
    expect(harness.answers).toEqual(['request 0 ok at 11']);
  });

  it('latest_delta can be set apart from schedule_ahead', () => {
    const harness = clockwork({ options: { latestDelta: 4 * MS } });
    harness.arrive(0, [0]);
    expect(harness.lastPlan.latest).toBe(5);
    harness.end(8);
    expect(harness.lastPlan.latest).toBe(13);
  });

  it('a second action is planned to start when the first should end', () => {
    const harness = warmed();
    harness.arrive(100, [0]);
    expect(harness.arrive(100, [0])).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.lastPlan).toEqual({ earliest: 100, latest: 113, expectedEnd: 106 });
  });

  it('the lane is booked until it is schedule_ahead into the future, and no further', () => {
    const harness = warmed();
    const sent: number[] = [];
    for (let i = 0; i < 6; i++) sent.push(harness.arrive(100, [0]).length);
    // Booked 0, 3, 6, 9 and 12 ms ahead when each came.
    expect(sent).toEqual([1, 1, 1, 1, 0, 0]);
  });

  it.each([0, 0.5, 1])(
    'schedule_ahead of %d ms books nothing: a lane is never free before 1 ms from now',
    (aheadMs) => {
      const harness = clockwork({ aheadMs });
      expect(harness.arrive(0, [0, 1])).toEqual([]);
      harness.step(95);
      expect(harness.answers).toEqual(['request 0 timeout at 95', 'request 1 timeout at 95']);
    },
  );
});

describe('clockwork INFER: batches', () => {
  it.each([
    [1, ['batch 1']],
    [2, ['batch 2']],
    [3, ['batch 2', 'batch 1']],
    [4, ['batch 4']],
    [5, ['batch 4', 'batch 1']],
    [9, ['batch 4', 'batch 4']],
  ])('%d waiting requests go as the largest batches that they fill', (count, batches) => {
    const harness = warmed();
    const sent = harness.arrive(100, new Array(count).fill(0));
    expect(sent).toEqual(batches.map((batch) => `INFER model 0 ${batch} on GPU 0`));
  });

  it('maxBatch bounds the batch size', () => {
    const harness = warmed({ options: { maxBatch: 3 } });
    expect(harness.arrive(100, [0, 0, 0, 0])[0]).toBe('INFER model 0 batch 2 on GPU 0');
  });

  it('batch sizes that take longer than maxExec are not used, except 1', () => {
    const harness = warmed({ options: { maxExec: 4 * MS } });
    expect(harness.arrive(100, [0, 0, 0, 0])[0]).toBe('INFER model 0 batch 1 on GPU 0');
    const less = warmed({ options: { maxExec: 2 * MS } });
    expect(less.arrive(100, [0, 0])[0]).toBe('INFER model 0 batch 1 on GPU 0');
    const equal = warmed({ options: { maxExec: 5 * MS } });
    expect(equal.arrive(100, [0, 0, 0, 0])[0]).toBe('INFER model 0 batch 2 on GPU 0');
  });

  it('a batch size drops the requests that it can no longer serve, and leaves them to smaller ones', () => {
    // SLO 17 ms: due 12 ms after arrival. A lane free at +1 ms ends batch 1 at +4 and batch 2 at +6.
    const harness = clockwork({ aheadMs: 2, sloMs: 17 });
    harness.arrive(0, [0, 0]);
    expect(harness.end(8)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    // The other would end at 14 ms.
    harness.step(12);
    expect(harness.answers).toEqual(['request 1 timeout at 12']);
  });

  it('a request that is due the very instant its batch would end is still served', () => {
    const harness = clockwork({ aheadMs: 2, sloMs: 19 });
    harness.arrive(0, [0, 0]);
    expect(harness.end(8)).toEqual(['INFER model 0 batch 2 on GPU 0']);
  });

  it('taking a larger batch loses an older request that only a batch of 1 could still have served', () => {
    const harness = clockwork({ aheadMs: 2, sloMs: 17 });
    harness.arrive(0, [0]);
    harness.arrive(4, [0, 0]);
    // At 8 ms request 0 fits a batch of 1, which ends at 12, but not one of 2, which ends at 14.
    expect(harness.end(8)).toEqual(['INFER model 0 batch 2 on GPU 0']);
    harness.end(13);
    expect(harness.answers.sort()).toEqual([
      'request 0 timeout at 13',
      'request 1 ok at 13',
      'request 2 ok at 13',
    ]);
  });

  it('a candidate of a large batch that its queue cannot fill gives way to smaller sizes only', () => {
    // Due at 107: batch 4 would have to start first, and ends too late; so does batch 2; batch 1 ends at 104.
    const harness = warmed({
      aheadMs: 2,
      cluster: { models: models(2, { execNs: [3 * MS, 7 * MS, 20 * MS] }) },
    });
    expect(harness.arrive(100, [0, 0, 0, 0], 12)).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });
});

describe('clockwork INFER: order', () => {
  it('the model that must start first runs first, not the one that came first', () => {
    const slow = model({ name: 'slow', execNs: [9 * MS, 12 * MS, 20 * MS] });
    const harness = warmed({ aheadMs: 4, cluster: { models: [model(), slow] } });
    harness.offer(100, [0]);
    // Due 5 ms later than the other, but takes 6 ms longer.
    harness.offer(100, [1], 105);
    expect(harness.step(100)).toEqual(['INFER model 1 batch 1 on GPU 0']);
  });

  it('equal urgency goes by batch size, then by model', () => {
    const harness = warmed();
    expect(harness.arrive(100, [1, 0])).toEqual([
      'INFER model 0 batch 1 on GPU 0',
      'INFER model 1 batch 1 on GPU 0',
    ]);
  });

  it('GPUs take turns', () => {
    const harness = warmed({ cluster: { gpus: 2 } });
    const sent: string[] = [];
    for (let i = 0; i < 4; i++) {
      sent.push(...harness.arrive(100 + i * 10, [0]));
      harness.end(105 + i * 10);
    }
    const gpus = sent.map((line) => line.at(-1));
    expect(gpus[1]).not.toBe(gpus[0]);
    expect(gpus).toEqual([gpus[0], gpus[1], gpus[0], gpus[1]]);
  });

  it('a GPU whose lane is booked leaves the request to one whose lane is not', () => {
    const harness = warmed({ aheadMs: 2, cluster: { gpus: 2 } });
    const sent = [harness.arrive(100, [0]), harness.arrive(100, [0]), harness.arrive(100, [0])].flat();
    expect(sent.map((line) => line.at(-1)).sort()).toEqual(['0', '1']);
    expect(harness.end(103)).toHaveLength(1);
  });
});

describe('clockwork INFER: deadlines', () => {
  it('with schedule_ahead as long as the SLO, requests are served late on purpose', () => {
    const harness = clockwork({ aheadMs: 10, sloMs: 10 });
    harness.arrive(0, [0]);
    harness.end(8);
    harness.end(11);
    expect(harness.answers).toEqual(['request 0 late at 11']);
  });

  it('a request times out at its internal deadline, 5 ms before the SLO ends', () => {
    const harness = clockwork();
    harness.arrive(0, [0]);
    expect(harness.controller.nextWakeNs(0)).toBe(95 * MS);
    harness.step(94.999999);
    expect(harness.answers).toEqual([]);
    harness.step(95);
    expect(harness.answers).toEqual(['request 0 timeout at 95']);
  });

  it('mixed SLOs: the earlier deadline times out first, whatever came first', () => {
    const harness = clockwork();
    harness.offer(0, [0], 100);
    harness.offer(0, [0], 50);
    harness.step(0);
    harness.step(45);
    harness.step(95);
    expect(harness.answers).toEqual(['request 1 timeout at 45', 'request 0 timeout at 95']);
  });

  it('a request that timed out inside the line is not part of a batch, which shrinks to fit', () => {
    const harness = clockwork();
    harness.offer(0, [0, 0], 100);
    harness.offer(0, [0], 20);
    harness.offer(0, [0], 100);
    harness.step(0);
    harness.step(15);
    harness.finish(20);
    // Four stand in line, one of which is gone.
    expect(harness.step(20)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    harness.end(28);
    expect(harness.answers).toEqual([
      'request 2 timeout at 15',
      'request 0 ok at 28',
      'request 1 ok at 28',
      'request 3 ok at 28',
    ]);
  });
});
