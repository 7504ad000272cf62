import { describe, expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, RequestTable } from '../../src/core/request.js';
import { modelFairness } from '../../src/record/model-fairness.js';
import { buildParts, costFigures } from '../../src/record/parts.js';
import { RunTally, type RunTallyOptions } from '../../src/record/run-tally.js';
import { action, MS, RESNET50, S, tableWith } from './fixtures.js';

function tallyWith(options: Partial<RunTallyOptions>): RunTally {
  return new RunTally({
    ...{ gpus: 1, durationNs: 10 * S, warmupNs: 0, models: [RESNET50] },
    ...{ sections: ['workload'], sectionStarts: [0], ...options },
  });
}

/** A run of models `a`, `b`, … with so many requests in time, late, and given up. */
function ofModels(counts: readonly (readonly [ok: number, late: number, cold?: number])[]): RunTally {
  const tally = tallyWith({
    warmupNs: S,
    models: counts.map((_, i) => ({ ...RESNET50, name: String.fromCharCode(97 + i) })),
  });
  counts.forEach(([ok, late, cold = 0], model) => {
    const answer = (outcome: 0 | 1 | 2, copies: number, times: number) => {
      const request = tableWith({ arrivalNs: 2 * S, model, arrivalCopies: copies });
      for (let i = 0; i < times; i++) tally.answered(request, 0, outcome, 3 * S, copies, null);
    };
    answer(OUTCOME_OK, 1, ok);
    answer(OUTCOME_LATE, 1, late);
    answer(OUTCOME_TIMEOUT, 0, cold);
  });
  // What came during the warm-up does not count.
  tally.answered(tableWith({ arrivalNs: S - MS }), 0, OUTCOME_TIMEOUT, S, 0, null);
  return tally;
}

describe('models', () => {
  const tally = ofModels([
    [40, 0],
    [20, 20],
    [6, 10, 4],
    [2, 0, 17],
    [10, 9],
    [0, 0],
  ]);
  const { model: figures } = buildParts(tally, [null], null);

  it('are those that had requests, the worst first, those that cannot be judged last', () => {
    expect(
      figures.map(({ id, key, requests, coldStarts }) => [
        id,
        key,
        requests.offered,
        requests.ok,
        coldStarts,
      ]),
    ).toEqual([
      [2, 'c', 20, 6, 4],
      [1, 'b', 40, 20, 0],
      [0, 'a', 40, 40, 0],
      [3, 'd', 19, 2, 17],
      [4, 'e', 19, 10, 0],
    ]);
  });

  it('tell the worst of those with 20 requests, and how many are below half and below 90 %', () => {
    expect(modelFairness(figures)).toEqual({
      worstModel: { name: 'c', attainment: 0.3, offered: 20 },
      modelsBelow50: 1,
      modelsBelow90: 2,
      modelsAssessed: 3,
      rareModels: { models: 2, offered: 38, attainment: 12 / 38 },
    });
  });
});

describe('groups', () => {
  it('are the sections of a workload by ranges of users', () => {
    const tally = tallyWith({ sections: ['chat', 'batch', 'crawl'], sectionStarts: [0, 10, 11] });
    const answer = (user: number, outcome: 0 | 1 | 2, ms: number) =>
      tally.answered(tableWith({ arrivalNs: 0, user }), 0, outcome, ms * MS, 1, null);
    answer(9, OUTCOME_OK, 10);
    answer(10, OUTCOME_LATE, 300);
    answer(5000, OUTCOME_TIMEOUT, 100);
    const { group } = buildParts(tally, [50, null, 500], null);
    expect(group).toMatchObject([
      {
        ...{ key: 'chat', sloMs: 50, attainment: 1, offeredRps: 0.1, goodputRps: 0.1 },
        ...{ offeredLatencyMs: { max: 10 }, executedLatencyMs: { max: 10 } },
      },
      {
        ...{ key: 'batch', sloMs: null, goodputRps: 0, requests: { offered: 1, late: 1 } },
        ...{ offeredLatencyMs: { p50: null }, executedLatencyMs: { max: 300 } },
      },
      { key: 'crawl', requests: { timeout: 1 }, executedLatencyMs: { max: null } },
    ]);
  });
});

describe('the GPU time of a batch', () => {
  const classes = [
    { name: 'gold', weight: 10, share: 0 },
    { name: 'others', weight: 1, share: 0 },
  ];
  const tenants = [
    { name: 'small', share: 0.5 },
    { name: 'large', share: 1.5 },
  ].map((each) => ({ ...each, rateRps: Number.POSITIVE_INFINITY, burst: 1 }));

  it('is shared by its requests, so that classes and tenants have parts of it', () => {
    const tally = tallyWith({ classes, tenants, warmupNs: 2 * MS });
    const requests = new RequestTable();
    const infer = (senders: readonly number[], beginMs: number, endMs: number) => {
      const ran = action({ id: endMs, count: senders.length, beginNs: beginMs * MS, endNs: endMs * MS });
      for (const sender of senders) {
        const slot = requests.allocate(0, 0, 100 * MS, 0, sender);
        requests.tenant[slot] = sender;
        tally.answered(requests, slot, OUTCOME_OK, endMs * MS, 1, ran);
      }
    };
    // 8 ms count of the first, whose requests came before the end of the warm-up, and 2 of the second.
    infer([0, 1, 1, 1], 0, 10);
    infer([1], 10, 12);
    const parts = buildParts(tally, [null], null);
    expect(parts.class!.map(({ gpuShare }) => gpuShare)).toEqual([0.2, 0.8]);
    expect(parts.tenant!.map(({ share, gpuShare }) => [share, gpuShare])).toEqual([
      [0.25, 0.2],
      [0.75, 0.8],
    ]);
  });
});

describe('kinds of GPUs', () => {
  const kinds = [
    { name: 'fast', gpus: 1, pricePerHour: 3 },
    { name: 'slow', gpus: 2, pricePerHour: 0.5 },
  ];
  const tally = tallyWith({ gpus: 3, kinds });
  const infer = (gpu: number, seconds: number) => {
    const ran = action({ id: gpu, gpu, count: 1, beginNs: 0, endNs: seconds * S });
    tally.answered(tableWith({ arrivalNs: 0 }), 0, OUTCOME_OK, seconds * S, 1, ran);
    tally.completed(ran, seconds * S, 0, 1);
  };
  infer(0, 4);
  infer(1, 2);
  infer(2, 6);
  tally.answered(tableWith({ arrivalNs: 0 }), 0, OUTCOME_TIMEOUT, S, 1, null);

  it('have the requests that they executed, and how busy they were', () => {
    expect(buildParts(tally, [null], null).kind).toMatchObject([
      { key: 'fast', gpus: 1, infer: 1, requests: { offered: 1, ok: 1 }, execUtilization: 0.4 },
      { key: 'slow', gpus: 2, infer: 2, requests: { offered: 2, ok: 2 }, execUtilization: 0.4 },
    ]);
  });

  it('cost what they are paid for', () => {
    expect(costFigures(tally, null)).toEqual({ perHour: 4, perMillionInTime: (4 * 10 * 1e6) / 3600 / 3 });
    const paid = [
      { paidNs: 5 * S, onNs: 5 * S, most: 1 },
      { paidNs: 10 * S, onNs: 8 * S, most: 2 },
    ];
    expect(costFigures(tally, paid)!.perHour).toBe(2);
    const [fast, slow] = buildParts(tally, [null], paid).kind!;
    expect([fast.execUtilization, slow.execUtilization]).toEqual([0.8, 1]);
    expect(
      costFigures(tallyWith({ kinds: [{ name: 'free', gpus: 1, pricePerHour: null }] }), null),
    ).toBeNull();
  });
});

it('lengths are the smallest that fit the inputs, over all models that take several', () => {
  const lengths = (all: readonly number[]) => ({ ...RESNET50, lengths: all });
  const tally = tallyWith({ models: [RESNET50, lengths([16, 64]), lengths([64, 256])] });
  const answer = (model: number, length: number) => {
    const request = tableWith({ arrivalNs: 0, model });
    request.length[0] = length;
    tally.answered(request, 0, OUTCOME_OK, MS, 1, null);
  };
  answer(0, 0);
  answer(1, 16);
  answer(1, 17);
  answer(2, 3);
  expect(buildParts(tally, [null], null).length!.map(({ key, requests }) => [key, requests.ok])).toEqual([
    ['16', 1],
    ['64', 2],
  ]);
});
