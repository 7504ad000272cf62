import { expect, it } from 'vitest';
import { INFER, STATUS_OK } from '../../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, type Outcome } from '../../../src/core/request.js';
import type { ClusterStatus } from '../../../src/live/observe/status/cluster-status.js';
import { latencyBinOf } from '../../../src/play/latency-bins.js';
import { ServerView } from '../../../src/play/live/server-view.js';

const MS = 1e6;
const base64 = (rows: readonly (readonly number[])[]) =>
  Buffer.from(Float64Array.from(rows.flat()).buffer).toString('base64');
const request = (id: number, outcome: Outcome, arrivalMs: number, answeredMs: number) => [
  ...[id, 0, 0, arrivalMs * MS, 10 * MS, answeredMs * MS, outcome],
  ...[outcome === OUTCOME_REJECTED ? -1 : 0, outcome === OUTCOME_OK ? -1 : 0, -1, -1],
];
const infer = [
  ...[0, INFER, 0, 0, 1, 1, 100 * MS, 100 * MS, 200 * MS, 3 * MS, 103 * MS, 110 * MS],
  ...[101 * MS, 120 * MS, 121 * MS, STATUS_OK],
];
const setup = { policy: 'escapement', gpus: 1, oneLane: false, models: ['resnet'], modelInferMs: [3] };

it('tells the story of an answer that came by any message, in any order', () => {
  const view = new ServerView(setup, {} as ClusterStatus, 0);
  expect(view.story(7)).toBeNull();
  view.add({ actions: base64([infer]), requests: base64([request(8, OUTCOME_OK, 130, 133)]) });
  view.add({ actions: base64([]), requests: base64([request(7, OUTCOME_LATE, 99, 121)]) });
  expect(view.story(7)).toMatchObject({
    ...{ model: 'resnet', outcome: 'late', arrivalNs: 99 * MS, answeredNs: 121 * MS },
    ...{ deadlineNs: 109 * MS, actions: [0] },
  });
});

it('counts latencies of what was executed', () => {
  const view = new ServerView(setup, {} as ClusterStatus, 0);
  const requests = [
    request(0, OUTCOME_OK, 100, 103),
    request(1, OUTCOME_LATE, 100, 121),
    request(2, OUTCOME_REJECTED, 100, 150),
  ];
  view.add({ actions: base64([]), requests: base64(requests) });
  const counts = view.latencyCounts();
  expect(counts.reduce((sum, count) => sum + count)).toBe(2);
  expect([counts[latencyBinOf(3 * MS)], counts[latencyBinOf(21 * MS)]]).toEqual([1, 1]);
});
