import { expect, it } from 'vitest';
import { Action, INFER, LOAD, STATUS_OK } from '../../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, RequestTable } from '../../../src/core/request.js';
import { StatisticsCollector } from '../../../src/live/observe/model-statistics.js';
import type { ServiceState } from '../../../src/live/service.js';

it('counts requests, runs and their times, by model', () => {
  const collector = new StatisticsCollector();
  const state = served('a', 'b');
  collector.changed(state);
  const requests = new RequestTable();
  const slots = [0, 1, 2].map(() => requests.allocate(1, 100, 1000, 0));
  const infer = run(INFER, 2, 400, 1000);
  collector.ran(infer, { copyInNs: 50, copyOutNs: 70 });
  collector.ran(run(LOAD, 0, 0, 5000), { copyInNs: 0, copyOutNs: 0 });
  collector.answered(requests, slots[0], OUTCOME_OK, 1100, 1, infer);
  collector.answered(requests, slots[1], OUTCOME_LATE, 1200, 1, infer);
  collector.answered(requests, slots[2], OUTCOME_REJECTED, 150, 1, null);
  const [a, b] = collector.read(state);
  expect(a).toMatchObject({ name: 'a', executionCount: 0, success: { count: 0, ns: 0 }, batches: [] });
  expect(b.lastInferenceMs).toBeGreaterThan(0);
  expect(b).toMatchObject({
    inferenceCount: 2,
    executionCount: 1,
    success: { count: 2, ns: 1000 + 1100 },
    fail: { count: 1, ns: 50 },
    queue: { count: 2, ns: 2 * 300 },
    computeInput: { count: 2, ns: 100 },
    computeInfer: { count: 2, ns: 2 * 480 },
    computeOutput: { count: 2, ns: 140 },
    batches: [{ batchSize: 2, computeInfer: { count: 1, ns: 480 } }],
  });
});

it('begins at zero for a model that takes the place of another', () => {
  const collector = new StatisticsCollector();
  collector.changed(served('a', 'b'));
  collector.ran(run(INFER, 1, 0, 10), { copyInNs: 0, copyOutNs: 0 });
  const next = served('a', 'c');
  collector.changed(next);
  expect(collector.read(next).map(({ name, executionCount }) => [name, executionCount])).toEqual([
    ['a', 0],
    ['c', 0],
  ]);
});

function served(...names: string[]): ServiceState {
  const entries = names.map((name, index) => {
    const ready = { state: 'ready', reason: '', isDefault: true } as const;
    return { ...ready, name, version: '1', index, model: null };
  });
  return { notReady: null, entries };
}

/** Of model 1. */
function run(kind: typeof INFER | typeof LOAD, count: number, beginNs: number, endNs: number): Action {
  return Object.assign(new Action(4), { kind, model: 1, count, beginNs, endNs, status: STATUS_OK });
}
