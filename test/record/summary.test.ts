import { describe, expect, it } from 'vitest';
import {
  type Action,
  LOAD,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_LOAD_TOO_LATE,
  UNLOAD,
} from '../../src/core/action.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../../src/core/request.js';
import { latencyCurve } from '../../src/record/parts.js';
import { RunTally, type RunTallyOptions } from '../../src/record/run-tally.js';
import { buildSchedulerFigures, buildSummary } from '../../src/record/summary.js';
import { action, MS, RESNET50, type RequestFields, S, tableWith } from './fixtures.js';

const RUN = {
  kind: 'simulated',
  name: 'run',
  seed: 7,
  digest: '00000000000000aa',
  policy: 'clockwork',
  wall: { seconds: 1, processedRps: 2, peakRssBytes: 3 },
} as const;

function recorderWith(options: Partial<RunTallyOptions> = {}): RunTally {
  return new RunTally({
    gpus: 1,
    durationNs: 10 * S,
    warmupNs: 0,
    models: [RESNET50],
    sections: ['workload'],
    sectionStarts: [0],
    ...options,
  });
}

function summarize(recorder: RunTally) {
  return { ...buildSummary(recorder, RUN), ...buildSchedulerFigures(recorder, RUN) };
}

function answer(recorder: RunTally, fields: RequestFields, outcome: Outcome, latencyNs: number): void {
  recorder.answered(tableWith(fields), 0, outcome, fields.arrivalNs + latencyNs, 1, null);
}

function complete(recorder: RunTally, fields: Partial<Action>): void {
  const completed = action(fields);
  recorder.completed(completed, completed.endNs, 0, 1);
}

describe('summary of requests', () => {
  const recorder = recorderWith();
  const outcomes: Outcome[] = [
    OUTCOME_OK,
    OUTCOME_OK,
    OUTCOME_OK,
    OUTCOME_LATE,
    OUTCOME_TIMEOUT,
    OUTCOME_REJECTED,
    OUTCOME_ERROR,
    OUTCOME_OK,
  ];
  outcomes.forEach((outcome, i) => {
    answer(recorder, { arrivalNs: i * S, arrivalCopies: i < 2 ? 0 : 1 }, outcome, (i + 1) * 10 * MS);
  });
  const summary = summarize(recorder);

  it('counts each request once, by outcome', () => {
    expect(summary.requests).toEqual({ offered: 8, ok: 4, late: 1, timeout: 1, rejected: 1, error: 1 });
  });

  it('relates goodput to the nominal duration and attainment to the offered requests', () => {
    expect(summary.durationSeconds).toBe(10);
    expect(summary.offeredRps).toBe(0.8);
    expect(summary.goodputRps).toBe(0.4);
    expect(summary.attainment).toBe(0.5);
  });

  it('measures latency over executed requests, late ones included', () => {
    expect(summary.executedLatencyMs.max).toBe(80);
    expect(summary.executedLatencyMs.mean).toBe((10 + 20 + 30 + 40 + 80) / 5);
    expect(summary.executedLatencyMs.p50).toBeCloseTo(30, 1);
  });

  it('measures latency over all offered requests, of which those that failed are never answered', () => {
    // Four of eight in time: the 50th percentile is the slowest of them, all beyond is never.
    expect(summary.offeredLatencyMs).toEqual({
      ...{ mean: null, p50: 80, p90: null, p95: null, p99: null, p999: null, p9999: null, max: null },
    });
  });

  it('counts arrivals without a warm copy as cold starts', () => {
    expect(summary.coldStarts).toBe(2);
  });

  it('passes the identity of the run through', () => {
    expect(summary).toMatchObject(RUN);
  });

  it('has a latency curve from the minimum to the share that was answered in time', () => {
    const cdf = latencyCurve(recorder.total(), 0);
    expect(cdf.percentile.slice(-2)).toEqual([49, 50]);
    expect(cdf.ms).toHaveLength(cdf.percentile.length);
    expect([cdf.ms[0], cdf.ms.at(-1)]).toEqual([10, 80]);
  });

  it('has the whole curve where every request was answered in time', () => {
    const all = recorderWith();
    for (const ms of [10, 20]) answer(all, { arrivalNs: 0 }, OUTCOME_OK, ms * MS);
    expect(latencyCurve(all.total(), 0).percentile.slice(-4)).toEqual([99, 99.9, 99.99, 100]);
    expect(summarize(all).offeredLatencyMs).toMatchObject({ mean: 15, max: 20 });
  });
});

describe('summary of a run in which nothing was executed', () => {
  it('has no latency and no attainment', () => {
    const recorder = recorderWith();
    const summary = summarize(recorder);
    expect(summary.offeredLatencyMs.p99).toBeNull();
    expect(summary.executedLatencyMs.p99).toBeNull();
    expect(summary.attainment).toBeNull();
    expect(latencyCurve(recorder.total(), 0)).toEqual({ percentile: [], ms: [] });
  });
});

describe('warm-up', () => {
  const recorder = recorderWith({ warmupNs: 2 * S });
  answer(recorder, { arrivalNs: 2 * S - 1, arrivalCopies: 0 }, OUTCOME_OK, 50 * MS);
  answer(recorder, { arrivalNs: 2 * S }, OUTCOME_OK, 50 * MS);
  complete(recorder, { sentNs: 2 * S - 1, beginNs: 2 * S - 5 * MS, endNs: 2 * S + 5 * MS });
  complete(recorder, { sentNs: 2 * S, beginNs: 10 * S - 3 * MS, endNs: 10 * S + 2 * MS });
  const summary = summarize(recorder);

  it('excludes requests by arrival and actions by sending', () => {
    expect(summary.requests.offered).toBe(1);
    expect(summary.coldStarts).toBe(0);
    expect(summary.actions.infer).toBe(1);
    expect(summary.durationSeconds).toBe(8);
  });

  it('counts lane time between warm-up and nominal end only', () => {
    expect(summary.gpu.execUtilization).toBe((5 + 3) / 8000);
  });
});

describe('summary of actions', () => {
  const recorder = recorderWith({ gpus: 2 });
  complete(recorder, { batchSize: 4, beginNs: 0, endNs: 5 * S });
  complete(recorder, { batchSize: 8, beginNs: 5 * S, endNs: 6 * S, status: STATUS_INFER_WEIGHTS_CHANGED });
  complete(recorder, { batchSize: 8, beginNs: 6 * S, endNs: 6 * S, status: STATUS_INFER_TOO_LATE });
  complete(recorder, { kind: LOAD, beginNs: 0, endNs: 1 * S });
  complete(recorder, { kind: LOAD, beginNs: 1 * S, endNs: 1 * S, status: STATUS_LOAD_TOO_LATE });
  complete(recorder, { kind: UNLOAD, beginNs: 1 * S, endNs: 1 * S });
  const { actions, gpu } = summarize(recorder);

  it('counts all by kind, and those that succeeded by batch size', () => {
    expect(actions).toEqual({ load: 2, unload: 1, infer: 3, tooLate: 2, inferByBatch: { '4': 1 } });
  });

  it('counts a lane as busy while anything runs on it', () => {
    expect(gpu).toEqual({ execUtilization: 6 / 20, weightsUtilization: 1 / 20 });
  });
});
