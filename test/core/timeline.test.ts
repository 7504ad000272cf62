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
  it('is never free before 1 ms from now', () => {
    const lane = new LaneTimeline();
    expect(lane.availableNs(7 * MS)).toBe(8 * MS);
    lane.add(1, 100, 7 * MS);
    expect(lane.availableNs(7 * MS)).toBe(8 * MS);
  });

  it('is free when its outstanding work should be done', () => {
    const lane = new LaneTimeline();
    lane.add(1, 3 * MS, 0);
    lane.add(2, 5 * MS, MS);
    expect(lane.availableNs(MS)).toBe(8 * MS);
    expect([lane.outstanding, lane.outstandingNs]).toEqual([2, 8 * MS]);
  });

  it('assumes that a head more than 10 ms overdue began 10 ms ago less its length', () => {
    const lane = new LaneTimeline();
    lane.add(1, 3 * MS, 0);
    lane.add(2, 20 * MS, 0);
    expect(lane.availableNs(13 * MS)).toBe(23 * MS);
    expect(lane.availableNs(14 * MS)).toBe(24 * MS);
  });

  it('begins what is left when a result comes, in whatever order results come', () => {
    const lane = new LaneTimeline();
    for (let id = 0; id < 3; id++) lane.add(id, 4 * MS, 0);
    lane.finish(1, 5 * MS);
    expect(lane.availableNs(6 * MS)).toBe(13 * MS);
    lane.finish(0, 7 * MS);
    expect(lane.availableNs(8 * MS)).toBe(11 * MS);
  });

  it('ignores results of actions that it does not know', () => {
    const lane = new LaneTimeline();
    lane.add(1, 5 * MS, 0);
    lane.finish(99, 2 * MS);
    expect(lane.availableNs(0)).toBe(5 * MS);
  });

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
          } else if (naive.actions.length > 0) {
            const { id: done } = naive.actions[finish % naive.actions.length];
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

  it('can never be booked with 1 ms or less ahead', () => {
    expect(new LaneTimeline().bookableAtNs(MS)).toBe(Number.POSITIVE_INFINITY);
    expect(new LaneTimeline().bookableAtNs(MS + 1)).toBe(0);
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
