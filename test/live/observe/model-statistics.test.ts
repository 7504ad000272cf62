import { expect, it } from 'vitest';
import { Action, INFER, LOAD, STATUS_OK } from '../../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, RequestTable } from '../../../src/core/request.js';
import type { ServedModel } from '../../../src/live/model.js';
import { StatisticsCollector } from '../../../src/live/observe/model-statistics.js';
import type { ModelEntry, ModelStatistics } from '../../../src/live/service.js';
import { model } from '../../core/fixtures.js';

const NOW_MS = 1_800_000_000_000.5;

it('counts requests, runs and their times, by model', () => {
  const collector = new StatisticsCollector(() => NOW_MS);
  const entries = come(collector, 'a', 'b');
  const requests = new RequestTable();
  const slots = [0, 1, 2].map(() => requests.allocate(1, 100, 1000, 0));
  const infer = run(INFER, 2, 400, 1000);
  collector.ran(infer, { copyInNs: 50, copyOutNs: 70 });
  collector.ran(run(LOAD, 0, 0, 5000), { copyInNs: 0, copyOutNs: 0 });
  collector.answered(requests, slots[0], OUTCOME_OK, 1100, 1, infer);
  collector.answered(requests, slots[1], OUTCOME_LATE, 1200, 1, infer);
  collector.answered(requests, slots[2], OUTCOME_REJECTED, 150, 1, null);
  const [a, b] = collector.read(entries);
  expect(a).toMatchObject({ name: 'a', executionCount: 0, success: { count: 0, ns: 0 }, batches: [] });
  expect(b.lastInferenceMs).toBe(Math.floor(NOW_MS));
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

const counts = ({ name, version, executionCount }: ModelStatistics) => [name, version, executionCount];

it('counts by name and version, whatever index a model has', () => {
  const collector = new StatisticsCollector(() => NOW_MS);
  const [a, b] = come(collector, 'a', 'b');
  const once = () => collector.ran(run(INFER, 1, 0, 10), { copyInNs: 0, copyOutNs: 0 });
  once();
  // It takes the index of b, which comes back at another one, and then with other files at that one.
  collector.modelCame(1, modelOf('c', '1'));
  once();
  collector.modelCame(2, modelOf('b', '1'));
  collector.modelCame(1, modelOf('b', '1'));
  once();
  collector.modelCame(1, modelOf('b', '2'));
  const b2 = entryOf('b', '2', 1);
  const entries = [a, { ...b, index: -1 }, b2, entryOf('c', '1', -1), entryOf('unloaded', '1', -1)];
  expect(collector.read(entries).map(counts)).toEqual([
    ['a', '1', 0],
    ['b', '1', 2],
    ['b', '2', 0],
    ['c', '1', 1],
  ]);
});

it('begins at zero for a version that was in no list in between', () => {
  const collector = new StatisticsCollector(() => NOW_MS);
  const [a, b] = come(collector, 'a', 'b');
  collector.ran(run(INFER, 1, 0, 10), { copyInNs: 0, copyOutNs: 0 });
  expect(collector.read([a]).map(counts)).toEqual([['a', '1', 0]]);
  collector.modelCame(1, modelOf('b', '1'));
  expect(collector.read([a, b]).map(counts)).toEqual([
    ['a', '1', 0],
    ['b', '1', 0],
  ]);
});

it('forgets versions that come and go though statistics are not read, and none that is listed', () => {
  const collector = new StatisticsCollector(() => NOW_MS);
  const [a] = come(collector, 'a');
  const comes = (version: string) => {
    collector.modelCame(1, modelOf('b', version));
    collector.ran(run(INFER, 1, 0, 10), { copyInNs: 0, copyOutNs: 0 });
    collector.listed([a, entryOf('b', version, 1)]);
  };
  for (let version = 1; version <= 10; version++) comes(`${version}`);
  const first = entryOf('b', '1', -1);
  expect(collector.read([a, first, entryOf('b', '10', 1)]).map(counts)).toContainEqual(['b', '1', 1]);
  for (let version = 11; version <= 200; version++) comes(`${version}`);
  expect(collector.read([a, first, entryOf('b', '200', 1)]).map(counts)).toEqual([
    ['a', '1', 0],
    ['b', '200', 1],
  ]);
});

function come(collector: StatisticsCollector, ...names: string[]): ModelEntry[] {
  const entries = names.map((name, index) => entryOf(name, '1', index));
  for (const { index, model } of entries) collector.modelCame(index, model!);
  return entries;
}

function entryOf(name: string, version: string, index: number): ModelEntry {
  return { name, version, index, state: 'ready', reason: '', isDefault: true, model: modelOf(name, version) };
}

function modelOf(name: string, version: string): ServedModel {
  const signature = { inputs: [], outputs: [], batched: true };
  return { spec: model({ name }), version, signature, sloNs: null };
}

/** Of model 1. */
function run(kind: typeof INFER | typeof LOAD, count: number, beginNs: number, endNs: number): Action {
  return Object.assign(new Action(4), { kind, model: 1, count, beginNs, endNs, status: STATUS_OK });
}
