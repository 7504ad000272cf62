import { expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, type Outcome } from '../../src/core/request.js';
import { RunTally } from '../../src/record/run-tally.js';
import { buildSummary } from '../../src/record/summary.js';
import { MS, RESNET50, S, tableWith } from './fixtures.js';

/** A run of 10 s with an answer each second; figures of real runs are recomputed by the audit. */
function tallyOf(answers: readonly (readonly [outcome: Outcome, latencyMs: number])[]): RunTally {
  const tally = new RunTally({
    ...{ gpus: 1, durationNs: 10 * S, warmupNs: 0, models: [RESNET50] },
    ...{ sections: ['workload'], sectionStarts: [0] },
  });
  for (const [i, [outcome, ms]] of answers.entries())
    tally.answered(tableWith({ arrivalNs: i * S }), 0, outcome, i * S + ms * MS, 1, null);
  return tally;
}

function summaryOf(tally: RunTally) {
  const wall = { seconds: 1, processedRps: 2, peakRssBytes: 3 };
  return buildSummary(tally, { kind: 'simulated', name: 'run', seed: 7, wall });
}

it('a latency curve goes from the minimum to the share that was answered in time', () => {
  const half = tallyOf([
    [OUTCOME_OK, 10],
    [OUTCOME_LATE, 40],
    [OUTCOME_TIMEOUT, 50],
    [OUTCOME_OK, 80],
  ]);
  const cdf = half.total().curve(0);
  expect(cdf.percentile.slice(-2)).toEqual([49, 50]);
  expect(cdf.ms).toHaveLength(cdf.percentile.length);
  expect([cdf.ms[0], cdf.ms.at(-1)]).toEqual([10, 80]);
  const all = tallyOf([
    [OUTCOME_OK, 10],
    [OUTCOME_OK, 20],
  ]);
  expect(all.total().curve(0).percentile.slice(-4)).toEqual([99, 99.9, 99.99, 100]);
  expect(summaryOf(all).offeredLatencyMs).toMatchObject({ mean: 15, max: 20 });
});

it('a run in which nothing was executed has no latency and no attainment', () => {
  const empty = tallyOf([]);
  const { offeredLatencyMs, executedLatencyMs, attainment } = summaryOf(empty);
  expect([offeredLatencyMs.p99, executedLatencyMs.p99, attainment]).toEqual([null, null, null]);
  expect(empty.total().curve(0)).toEqual({ percentile: [], ms: [] });
});
