import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../../src/record/results.js';
import { compareRuns, runNames } from '../../../src/report/compare/compare.js';
import { runFixture } from '../fixtures.js';

const BASE = runFixture({ sloMs: 50, goodputRps: 480 });

function changed(summary: Partial<RunResult['summary']>, rest: Partial<RunResult> = {}): RunResult {
  return { ...BASE, ...rest, summary: { ...BASE.summary, ...summary } };
}

function compare(...runs: readonly RunResult[]) {
  return compareRuns(runs.map((run, i) => ({ name: 'ABC'[i] as string, run })));
}

function figure(name: string, ...runs: readonly RunResult[]) {
  return compare(...runs).figures.find((candidate) => candidate.name === name);
}

describe('compareRuns', () => {
  it('gives each figure with its difference to the first run, absolute and relative', () => {
    const slower = changed({ offeredLatencyMs: { ...BASE.summary.offeredLatencyMs, p99: 50 } });
    const faster = changed({ offeredLatencyMs: { ...BASE.summary.offeredLatencyMs, p99: 30 } });
    const first = changed({ offeredLatencyMs: { ...BASE.summary.offeredLatencyMs, p99: 40 } });
    expect(figure('p99', first, slower, faster)).toEqual({
      name: 'p99',
      label: 'p99 latency',
      unit: 'ms',
      values: [40, 50, 30],
      differences: [0, 10, -10],
      margins: [null, null, null],
      relative: [0, 0.25, -0.25],
    });
  });

  it('has no relative difference to 0, and none at all to what was not measured', () => {
    const requests = { ...BASE.summary.requests, late: 0 };
    const late = changed({ requests: { ...requests, late: 3 } });
    expect(figure('late', changed({ requests }), late, changed({ requests }))).toMatchObject({
      differences: [0, 3, 0],
      relative: [0, null, 0],
    });
    const nothing = changed({ executedLatencyMs: { ...BASE.summary.executedLatencyMs, p50: null } });
    expect(figure('executedP50', nothing, BASE)).toMatchObject({
      differences: [null, null],
      relative: [null, null],
    });
  });
});

describe('warnings', () => {
  it('are none for the same experiment, however it was run', () => {
    expect(compare(BASE, changed({ digest: '0' }, { overrides: ['policy.kind=fifo'] })).warnings).toEqual([]);
  });

  it.each([
    [changed({}, { experiment: 'other' }), 'B: its experiment file differs from that of A'],
    [changed({ seed: 7 }), 'B: the seed is 7, that of A is 1'],
    [changed({}, { sloMs: 25 }), 'B: the SLO is 25 ms, that of A is 50 ms'],
    [changed({}, { sloMs: null }), 'B: the SLO is mixed, that of A is 50 ms'],
    [changed({ durationSeconds: 5 }), 'B: the duration is 5 s, that of A is 20 s'],
  ])('say what makes runs answer different questions: %#', (other, warning) => {
    expect(compare(BASE, other).warnings).toEqual([warning]);
    expect(compare(BASE, BASE, other).warnings).toEqual([warning.replace(/^B/, 'C')]);
  });
});

describe('runNames', () => {
  it.each([
    [
      ['out/live', 'out/simulated/'],
      ['live', 'simulated'],
    ],
    [
      ['a/run', 'b/run', 'c'],
      ['a/run', 'b/run', 'c'],
    ],
    [
      ['a', 'a'],
      ['a (1)', 'a (2)'],
    ],
  ])('%j are called %j', (folders, names) => expect(runNames(folders)).toEqual(names));
});
