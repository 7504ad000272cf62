import { expect, it } from 'vitest';
import type { Experiment } from '../../../src/config/experiment.js';
import { type Action, INFER, LOAD, STATUS_DEVICE_ERROR, STATUS_OK } from '../../../src/core/action.js';
import type { ModelSpec } from '../../../src/core/model.js';
import { OUTCOME_ERROR, OUTCOME_LATE, OUTCOME_OK, type RequestTable } from '../../../src/core/request.js';
import type { ScheduledRun } from '../../../src/record/results.js';
import { WatchedRun } from './watched-run.js';

const MODEL = { pages: 3, batchSizes: [1, 2] } as unknown as ModelSpec;
const EXPERIMENT = {
  cluster: { kinds: [{ gpus: 1, on: 1, pages: 4 }], failures: [], oneLane: false, overheadNs: 0 },
  models: [MODEL, MODEL],
  warmupNs: 0,
} as unknown as Experiment;
const REQUEST = { timeNs: 100, model: 0, sloNs: 50, user: 0, requestClass: 0, tenant: 0, length: 0 };
const NO_COUNTS = { ok: 0, late: 0, timeout: 0, rejected: 0, error: 0 };

/** Plays a run of one request that goes well, but for the changes that are given. Returns the check that finds something. */
function found(changes: {
  readonly load?: Partial<Action>;
  readonly infer?: Partial<Action>;
  readonly answer?: {
    readonly id?: number;
    readonly outcome?: 0 | 1 | 4;
    readonly nowNs?: number;
    readonly sloNs?: number;
  };
  readonly answers?: number;
  readonly results?: number;
  readonly counts?: Partial<typeof NO_COUNTS>;
}): string | undefined {
  const watched = new WatchedRun(EXPERIMENT);
  const { observer } = watched;
  const common = { gpu: 0, model: 0, status: STATUS_OK, earliestNs: 0, latestNs: 1000, batchIndex: 0 };
  const load = { ...common, id: 0, kind: LOAD, beginNs: 10, endNs: 20, ...changes.load } as Action;
  const infer = {
    ...{ ...common, id: 1, kind: INFER, beginNs: 100, endNs: 120, batchSize: 1, count: 1 },
    ...changes.infer,
  } as Action;
  const { id = 0, outcome = OUTCOME_OK, nowNs = 120, sloNs = 50 } = changes.answer ?? {};
  const requests = {
    id: [id],
    model: [0],
    ...{ step: [0], user: [0], requestClass: [0], tenant: [0], length: [0] },
    arrivalNs: [100],
    sloNs: [sloNs],
  } as unknown as RequestTable;
  observer.decided?.(load, 5);
  observer.completed(load, 20, 0, 1);
  watched.arrived(REQUEST);
  observer.decided?.(infer, 100);
  for (let i = 0; i < (changes.answers ?? 1); i++) observer.answered(requests, 0, outcome, nowNs, 1, infer);
  for (let i = 0; i < (changes.results ?? 1); i++) observer.completed(infer, 120, 0, 1);
  const counts = { ...NO_COUNTS, ok: 1, ...changes.counts };
  return watched.finish({ summary: { requests: counts } } as unknown as ScheduledRun)?.check;
}

it('finds nothing where all is well', () => {
  expect(found({})).toBeUndefined();
});

it.each([
  [{ answers: 0, counts: { ok: 0 } }, 'each request is answered'],
  [{ answers: 2, counts: { ok: 2 } }, 'an answer is true'],
  [{ answer: { id: 1 } }, 'each request is answered'],
  [{ answer: { sloNs: 51 } }, 'requests are answered as they were sent'],
  [{ answer: { nowNs: 151 } }, 'an answer is true'],
  [{ answer: { outcome: OUTCOME_LATE }, counts: { ok: 0, late: 1 } }, 'an answer is true'],
  [{ answer: { outcome: OUTCOME_ERROR }, counts: { ok: 0, error: 1 } }, 'an answer is true'],
  [{ infer: { status: STATUS_DEVICE_ERROR, endNs: 100 } }, 'an answer is true'],
  [{ counts: { ok: 0, late: 1 } }, 'the summary counts ok'],
  [{ results: 0 }, 'each action has a result'],
  [{ results: 2 }, 'an action has one result'],
  [{ infer: { latestNs: 99 } }, 'an action begins within its window'],
  [{ infer: { earliestNs: 101 } }, 'an action begins within its window'],
  [{ infer: { endNs: 100.5 } }, 'time is a whole number of nanoseconds, and passes'],
  [{ infer: { model: 1 } }, 'an INFER goes to a GPU that holds its model'],
  [{ infer: { count: 0 } }, 'a batch is never empty, and runs in the smallest size that holds it'],
  [{ infer: { kind: LOAD } }, 'no model is loaded twice'],
  [{ infer: { kind: LOAD, model: 1 } }, 'what a GPU holds fits into its memory'],
  [{ load: { kind: INFER, batchSize: 1, count: 1 } }, 'an INFER goes to a GPU that holds its model'],
] as const)('%j: %s', (changes, check) => {
  expect(found(changes)).toBe(check);
});

it('finds actions of one lane at a time', () => {
  const watched = new WatchedRun(EXPERIMENT);
  const load = { gpu: 0, model: 0, id: 0, kind: LOAD, status: STATUS_OK, earliestNs: 0, latestNs: 1000 };
  watched.observer.completed({ ...load, beginNs: 10, endNs: 20 } as Action, 20, 0, 1);
  watched.observer.completed({ ...load, id: 1, beginNs: 19, endNs: 30 } as Action, 30, 0, 1);
  expect(watched.problem?.check).toBe('each lane runs one thing at a time');
});
