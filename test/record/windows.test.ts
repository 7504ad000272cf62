import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOAD } from '../../src/core/action.js';
import { GPU_ON } from '../../src/core/fleet-observer.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, type Outcome } from '../../src/core/request.js';
import { FleetTally } from '../../src/record/fleet-tally.js';
import type { RunWindow } from '../../src/record/results.js';
import { RunTally, type RunTallyOptions } from '../../src/record/run-tally.js';
import { buildSummary } from '../../src/record/summary.js';
import { action, complete, MS, RESNET50, S, tableWith } from './fixtures.js';

const IDENTITY = {
  ...({ name: 'run', kind: 'simulated', seed: 1 } as const),
  wall: { seconds: 1, processedRps: 1, peakRssBytes: null },
} as const;

function tallyOf(options: Partial<RunTallyOptions> = {}): RunTally {
  return new RunTally({
    ...{ gpus: 2, durationNs: 10 * S, warmupNs: 0, models: [RESNET50] },
    ...{ sections: ['a', 'b'], sectionStarts: [0, 10] },
    ...options,
  });
}

function windowsOf(tally: RunTally, fleet: FleetTally | null = null): RunWindow[] {
  return tally.windows.rows(tally.causes === null ? null : (fleet ?? tally.gpus));
}

function answer(tally: RunTally, user: number, arrivalNs: number, outcome: Outcome, latencyNs: number): void {
  tally.answered(tableWith({ arrivalNs, user }), 0, outcome, arrivalNs + latencyNs, 1, null);
}

const sum = (windows: readonly RunWindow[], of: 'offeredRps' | 'goodputRps' | 'failedRps') =>
  windows.reduce((all, one) => all + one[of]! * (one.endSeconds - one.beginSeconds), 0);

describe('windows', () => {
  it('are at most 100 of equal length, at least 1 s, that follow each other; a shorter run is one', () => {
    const spans = fc.oneof(fc.integer({ min: 2, max: 10 * S }), fc.integer({ min: 2, max: 30 * 86_400 * S }));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 * S }), spans, (warmupNs, spanNs) => {
        const windows = windowsOf(tallyOf({ warmupNs, durationNs: warmupNs + spanNs }));
        expect(windows.length).toBeLessThanOrEqual(100);
        expect(windows.length).toBeGreaterThanOrEqual(Math.min(100, Math.max(1, Math.floor(spanNs / S))));
        expect(windows[0]!.beginSeconds).toBe(warmupNs / S);
        expect(windows.at(-1)!.endSeconds).toBeCloseTo((warmupNs + spanNs) / S, 6);
        windows.slice(1).forEach(({ beginSeconds }, i) => {
          expect(beginSeconds).toBe(windows[i]!.endSeconds);
          expect(beginSeconds - windows[i]!.beginSeconds).toBeGreaterThanOrEqual(0.999_999);
        });
      }),
    );
    expect([tallyOf({ durationNs: 1 }), tallyOf()].map((tally) => windowsOf(tally).length)).toEqual([1, 10]);
  });

  it('add up to the summary, whatever is answered when', () => {
    const outcomes = fc.constantFrom<Outcome>(OUTCOME_OK, OUTCOME_LATE, OUTCOME_REJECTED);
    const request = fc.record({
      ...{ arrivalNs: fc.integer({ min: 0, max: 10 * S }), latencyNs: fc.integer({ min: 0, max: 4 * S }) },
      ...{ outcome: outcomes, user: fc.constantFrom(0, 10) },
    });
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 60 }), (requests) => {
        const tally = tallyOf();
        const ordered = requests.toSorted((a, b) => a.arrivalNs + a.latencyNs - b.arrivalNs - b.latencyNs);
        for (const { user, arrivalNs, outcome, latencyNs } of ordered)
          answer(tally, user, arrivalNs, outcome, latencyNs);
        const windows = windowsOf(tally);
        const { offered, ok } = buildSummary(tally, IDENTITY).requests;
        expect(sum(windows, 'offeredRps')).toBeCloseTo(offered, 6);
        expect(sum(windows, 'goodputRps')).toBeCloseTo(ok, 6);
        expect(sum(windows, 'failedRps')).toBeCloseTo(offered - ok, 6);
      }),
    );
  });

  it('have the latencies of their own answers', () => {
    const tally = tallyOf();
    for (let i = 1; i <= 100; i++) answer(tally, i % 20, 500 * MS, OUTCOME_OK, i * MS);
    for (let i = 1; i <= 97; i++) answer(tally, i % 20, 2_100 * MS, OUTCOME_OK, 2 * i * MS);
    for (let i = 98; i <= 100; i++) answer(tally, 0, 2_100 * MS, OUTCOME_LATE, 2 * i * MS);
    answer(tally, 0, 9_900 * MS, OUTCOME_OK, 3 * S);
    const windows = windowsOf(tally);
    const near = (ms: number) => expect.closeTo(ms, 0);
    expect(windows[0]).toMatchObject({ p99Ms: near(99), executedP50Ms: near(50), executedP99Ms: near(99) });
    expect(windows[1]).toMatchObject({ goodputRps: 0, p99Ms: null, executedP50Ms: null });
    expect(windows[2]).toMatchObject({ goodputRps: 97, failedRps: 3 });
    expect(windows[2]).toMatchObject({ p99Ms: null, executedP50Ms: near(100), executedP99Ms: near(198) });
    // They go on until the last answer.
    expect(windows).toHaveLength(13);
    expect(windows[9]).toMatchObject({ offeredRps: 1, goodputRps: 0, executedP99Ms: null });
    expect(windows[12]).toMatchObject({ endSeconds: 13, goodputRps: 1, executedP99Ms: near(3000) });
    // Reading changes nothing.
    expect(windowsOf(tally)).toEqual(windows);
  });

  it('share the time of an action that runs in several of them', () => {
    const tally = tallyOf();
    complete(tally, action({ sentNs: 0, beginNs: 500 * MS, endNs: 2_250 * MS }));
    complete(tally, action({ kind: LOAD, sentNs: 3 * S, beginNs: 3 * S, endNs: 3_500 * MS }));
    complete(tally, action({ sentNs: 9 * S, beginNs: 9_500 * MS, endNs: 11 * S }));
    const windows = windowsOf(tally);
    expect(windows.map(({ execUtilization }) => execUtilization)).toEqual(
      [0.25, 0.5, 0.125, 0, 0, 0, 0, 0, 0, 0.25].map((share) => expect.closeTo(share, 9)),
    );
    expect(windows.map(({ weightsUtilization }) => weightsUtilization)[3]).toBeCloseTo(0.25, 9);
    expect(windows.map(({ loads }) => loads)).toEqual([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    const fleet = new FleetTally({ kinds: [{ name: 'a', gpus: 2 }], warmupNs: 0, durationNs: 10 * S });
    fleet.gpuChanged(0, GPU_ON, 1_500 * MS);
    const ofFleet = windowsOf(tally, fleet).map(({ execUtilization }) => execUtilization);
    expect(ofFleet.slice(0, 3)).toEqual([null, 2, 0.25]);
  });
});
