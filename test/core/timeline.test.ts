import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LaneTimeline } from '../../src/core/timeline.js';

const MS = 1_000_000;

/** The rules in their plainest form. */
class NaiveTimeline {
  beginNs = 0;
  readonly actions: { readonly id: number; readonly sizeNs: number }[] = [];

  get totalNs(): number {
    return this.actions.reduce((sum, { sizeNs }) => sum + sizeNs, 0);
  }

  add(id: number, sizeNs: number, nowNs: number): void {
    if (this.actions.length === 0) this.beginNs = nowNs;
    this.actions.push({ id, sizeNs });
  }

  finish(id: number, endNs: number): void {
    const at = this.actions.findIndex((action) => action.id === id);
    if (at < 0) return;
    this.actions.splice(at, 1);
    this.beginNs = endNs;
  }

  availableNs(nowNs: number): number {
    if (this.actions.length === 0) return nowNs + MS;
    const beginNs = Math.max(this.beginNs, nowNs - 10 * MS - this.actions[0].sizeNs);
    return Math.max(nowNs + MS, beginNs + this.totalNs);
  }
}

const operation = fc.record({
  afterNs: fc.oneof(fc.nat(3 * MS), fc.nat(30 * MS)),
  /** Which outstanding action finishes; none: one is added. */
  finish: fc.option(fc.nat(40)),
  sizeNs: fc.nat(12 * MS),
});

describe('LaneTimeline', () => {
  it('agrees with the plain rules, and bookableAtNs is the first instant booked less than that far ahead', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), fc.nat(25 * MS), (ops, aheadNs) => {
        const lane = new LaneTimeline();
        const naive = new NaiveTimeline();
        let nowNs = 0;
        for (const [id, { afterNs, finish, sizeNs }] of ops.entries()) {
          nowNs += afterNs;
          if (finish === null) {
            lane.add(id, sizeNs, nowNs);
            naive.add(id, sizeNs, nowNs);
          } else {
            // At times one that it does not know.
            const done = naive.actions[finish % (naive.actions.length + 1)]?.id ?? -1;
            lane.finish(done, nowNs);
            naive.finish(done, nowNs);
          }
          expect(lane.outstanding).toBe(naive.actions.length);
          expect(lane.outstandingNs).toBe(naive.totalNs);
          expect(lane.availableNs(nowNs)).toBe(naive.availableNs(nowNs));
          checkBookable(lane, naive, aheadNs, nowNs);
        }
      }),
    );
  });
});

function checkBookable(lane: LaneTimeline, naive: NaiveTimeline, aheadNs: number, nowNs: number): void {
  const isBookable = (atNs: number) => naive.availableNs(atNs) - atNs < aheadNs;
  const atNs = lane.bookableAtNs(aheadNs);
  if (atNs === Number.POSITIVE_INFINITY) {
    expect(isBookable(nowNs)).toBe(false);
    expect(isBookable(nowNs + 1e12)).toBe(false);
    return;
  }
  expect(isBookable(Math.max(atNs, nowNs))).toBe(true);
  if (atNs > nowNs) expect(isBookable(atNs - 1)).toBe(false);
}
