import { describe, expect, it } from 'vitest';
import { ABORT, LOAD, STATUS_ABORTED, UNLOAD } from '../../src/core/action.js';
import { Timeline } from '../../src/record/timeline.js';
import { action, MS, RESNET50 } from './fixtures.js';

const SLICE = { fromNs: 10 * MS, toNs: 20 * MS, models: [RESNET50] };

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
    for (const [begin, end] of slices) timeline.completed(action({ beginNs: begin * MS, endNs: end * MS }));
    timeline.completed(action({ kind: UNLOAD, beginNs: 12 * MS, endNs: 12 * MS }));
    timeline.completed(action({ kind: ABORT, beginNs: 12 * MS, endNs: 12 * MS }));
    timeline.completed(action({ kind: LOAD, beginNs: 12 * MS, endNs: 14 * MS }));
    expect(timeline.entries().map((entry) => [entry.kind, entry.lane, entry.beginMs])).toEqual([
      ['INFER', 'EXEC', 5],
      ['INFER', 'EXEC', 12],
      ['LOAD', 'WEIGHTS', 12],
      ['INFER', 'EXEC', 15],
    ]);
  });

  it('keeps an INFER that was aborted for as long as it took its lane', () => {
    const timeline = new Timeline(SLICE);
    timeline.completed(action({ status: STATUS_ABORTED, beginNs: 12 * MS, endNs: 14 * MS }));
    expect(timeline.entries()).toMatchObject([{ kind: 'INFER', beginMs: 12, endMs: 14, status: 97 }]);
  });

  it('counts what exceeds its bound', () => {
    const timeline = new Timeline({ ...SLICE, maxEntries: 2 });
    for (let i = 0; i < 5; i++) timeline.completed(action({ id: i }));
    expect(timeline.entries()).toHaveLength(2);
    expect(timeline.dropped).toBe(3);
  });

  it('stays valid JSON when a window has no end', () => {
    const timeline = new Timeline(SLICE);
    timeline.completed(action({ latestNs: Number.POSITIVE_INFINITY }));
    expect(timeline.entries()[0].latestMs).toBe(15);
  });
});
