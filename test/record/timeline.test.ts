import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ABORT, LOAD, STATUS_ABORTED, UNLOAD } from '../../src/core/action.js';
import { OUTCOME_OK, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { Timeline } from '../../src/record/timeline.js';
import { action, complete, MS, RESNET50, S, tableWith } from './fixtures.js';

const SLICE = {
  slice: [10 * MS, 20 * MS],
  models: [RESNET50],
  warmupNs: 0,
} as const;

describe('Timeline', () => {
  it('keeps the LOADs and INFERs that overlap the slice, by begin', () => {
    const timeline = new Timeline(SLICE);
    const slices = [
      [1, 9],
      [15, 25],
      [5, 11],
      [12, 13],
      [20, 21],
    ];
    for (const [begin, end] of slices) complete(timeline, action({ beginNs: begin * MS, endNs: end * MS }));
    complete(timeline, action({ kind: UNLOAD, beginNs: 12 * MS, endNs: 12 * MS }));
    complete(timeline, action({ kind: ABORT, beginNs: 12 * MS, endNs: 12 * MS }));
    complete(timeline, action({ kind: LOAD, beginNs: 12 * MS, endNs: 14 * MS }));
    expect(timeline.entries().map((entry) => [entry.kind, entry.lane, entry.beginMs])).toEqual([
      ['INFER', 'EXEC', 5],
      ['INFER', 'EXEC', 12],
      ['LOAD', 'WEIGHTS', 12],
      ['INFER', 'EXEC', 15],
    ]);
  });

  it('keeps an INFER that was aborted for as long as it took its lane', () => {
    const timeline = new Timeline(SLICE);
    complete(timeline, action({ status: STATUS_ABORTED, beginNs: 12 * MS, endNs: 14 * MS }));
    expect(timeline.entries()).toMatchObject([{ kind: 'INFER', beginMs: 12, endMs: 14, status: 97 }]);
  });
});

describe('worst', () => {
  const WARMUP_NS = S / 2;
  const event = fc.record({
    ms: fc.integer({ min: 0, max: 6000 }),
    lengthMs: fc.integer({ min: 0, max: 1500 }),
    kind: fc.constantFrom('action', 'ok', 'missed'),
  });

  it('is the worst second, and the tenth of it, as a search finds them', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (drawn) => {
        const events = drawn.toSorted((a, b) => a.ms - b.ms);
        const timeline = new Timeline({ slice: 'worst', warmupNs: WARMUP_NS, models: [RESNET50] });
        const table = tableWith({ arrivalNs: 0 });
        for (const { ms, lengthMs, kind } of events) {
          if (kind === 'action')
            complete(timeline, action({ beginNs: (ms - lengthMs) * MS, endNs: ms * MS }));
          else timeline.answered(table, 0, kind === 'ok' ? OUTCOME_OK : OUTCOME_TIMEOUT, ms * MS);
        }

        const answersIn = (from: number, to: number) =>
          events.filter(({ ms, kind }) => kind !== 'action' && ms >= from && ms < to);
        const missesIn = (from: number, to: number) =>
          answersIn(from, to).filter(({ kind }) => kind === 'missed').length;
        const worstOf = (spans: readonly (readonly [number, number])[]) =>
          spans.toSorted(
            (a, b) =>
              missesIn(...b) - missesIn(...a) ||
              answersIn(...b).length - answersIn(...a).length ||
              a[0] - b[0],
          )[0]!;
        const [worst, end] = worstOf([0, 1, 2, 3, 4, 5].map((i) => [500 + 1000 * i, 1500 + 1000 * i]));
        const tenth = Array.from({ length: 10 }, (_, i) => worst + 100 * i)
          .filter((from) => from < end)
          .sort((a, b) => missesIn(b, b + 100) - missesIn(a, a + 100) || a - b)[0] as number;
        const missed = missesIn(tenth, tenth + 100);
        expect(timeline.moment()).toEqual(missed === 0 ? null : { fromMs: tenth, toMs: tenth + 100, missed });
        if (answersIn(worst, end).length === 0) return;
        const overlapping = events.filter(
          ({ ms, lengthMs, kind }) => kind === 'action' && ms >= worst && ms - lengthMs < end,
        );
        expect(
          timeline
            .entries()
            .map(({ endMs }) => endMs)
            .sort(),
        ).toEqual(overlapping.map(({ ms }) => ms).sort());
      }),
    );
  });
});
