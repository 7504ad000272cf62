import { describe, expect, it } from 'vitest';
import { AUTO } from '../../../src/policies/entry.js';
import { models } from '../../core/fixtures.js';
import { MS, PolicyHarness } from '../policy-harness.js';

const LONG_MS = 20_000;
/** What cannot be served within it earns its model a favor. */
const TIGHT_MS = 12;

/** Two GPUs with room for one of three models each; one of them is lost while model 0 has more requests than it can serve. */
function loseOne(): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'escapement',
    options: { scheduleAhead: AUTO, fairness: 0.55, maxBatch: 4 },
    models: models(3, { pages: 1 }),
    gpus: 2,
    pages: 1,
  });
  for (let nowMs = 1; nowMs < 200; nowMs += 10) {
    harness.offer(nowMs, new Array(10).fill(0), TIGHT_MS);
    harness.settle(nowMs, nowMs + 9);
  }
  harness.lose(harness.controller.cluster.warm.has(0, 0) ? 1 : 0, 201);
  harness.settle(201, 230);
  expect(harness.controller.cluster.warm.count(0)).toBe(1);
  return harness;
}

describe('requests with a long SLO, once there is less memory than models need', () => {
  it('do not wait for what is expected of another model, though nothing else happens', () => {
    const harness = loseOne();
    const before = harness.answers.length;
    harness.arrive(231, [1, 1, 2], LONG_MS);
    const at = wakeUntil(harness, 231, () => harness.answers.length === before + 3);
    expect(at).toBeLessThan(2500);
    expect(harness.answers.slice(before).every((answer) => answer.includes(' ok '))).toBe(true);
  });

  it('do not wait for it either while that model is asked for, as long as that leaves its GPU time', () => {
    const harness = loseOne();
    const [first, second, third] = [0, 1, 2].map((i) => harness.answers.length + i);
    harness.offer(231, [1, 1, 2], LONG_MS);
    for (let nowMs = 231; nowMs < 2500; nowMs += 20) {
      harness.offer(nowMs, [0, 0], TIGHT_MS);
      harness.settle(nowMs, nowMs + 19);
    }
    const ofLong = harness.answers.filter((answer) =>
      [first, second, third].includes(Number(answer.split(' ')[1])),
    );
    expect(ofLong.map((answer) => answer.split(' ')[2])).toEqual(['ok', 'ok', 'ok']);
  });
});

describe('a request that waits where another model has the memory, for which heavy ones came', () => {
  const classes = [
    { name: 'gold', weight: 1000, share: 0 },
    { name: 'bulk', weight: 1, share: 0 },
  ];
  /** Gold requests for model 0 until 2 s, then one every so many ms; one of a class for model 1 at 4 s. When that is answered. */
  const answeredMs = (everyMs: number, requestClass: number): number => {
    const harness = new PolicyHarness({
      policy: 'escapement',
      options: { scheduleAhead: AUTO, fairness: 0.55, maxBatch: 4 },
      models: models(2, { pages: 1 }),
      pages: 1,
      classes,
    });
    let asked = 0;
    let one = -1;
    const offer = (nowMs: number, model: number, sloMs: number, ofClass: number) => {
      harness.offer(nowMs, [model], sloMs, ofClass);
      return asked++;
    };
    // Light ones were all that came for model 1 so far.
    for (let i = 0; i < 20; i++) offer(0, 1, 100, 1);
    for (let nowMs = 0; nowMs < LONG_MS; nowMs += 20) {
      if (nowMs < 2000 || nowMs % everyMs === 0) offer(nowMs, 0, 100, 0);
      if (nowMs === 4000) one = offer(nowMs, 1, 10_000, requestClass);
      harness.settle(nowMs, nowMs + 19);
      if (harness.answers.some((answer) => answer.startsWith(`request ${one} ok`))) return nowMs;
    }
    return LONG_MS;
  };

  it('waits on if it is light, while heavy ones come', () => {
    expect(answeredMs(500, 1)).toBe(LONG_MS);
  });

  it('is served once none has come for some seconds, though it is light', () => {
    expect(answeredMs(1_000_000, 1)).toBeLessThan(8000);
  });

  it('is served if it weighs as much itself, whatever came for its model before', () => {
    expect(answeredMs(500, 0)).toBeLessThan(6000);
  });
});

/** Steps only when the controller wants to, and when an action ends; returns when it was so. */
function wakeUntil(harness: PolicyHarness, fromMs: number, isSo: () => boolean): number {
  let nowMs = fromMs;
  for (let steps = 0; steps < 10_000 && !isSo(); steps++) {
    const ends = harness.outstanding.map(({ expectedEndNs }) => expectedEndNs / MS);
    nowMs = Math.max(nowMs, Math.ceil(Math.min(harness.controller.nextWakeNs(nowMs * MS) / MS, ...ends)));
    harness.settle(nowMs, nowMs);
  }
  return nowMs;
}
