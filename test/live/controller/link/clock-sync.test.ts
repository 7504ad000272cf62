import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NS_PER_HOUR, NS_PER_S } from '../../../../src/base/units.js';
import { ClockSync, MAX_DRIFT } from '../../../../src/live/controller/link/clock-sync.js';

/** A round trip against a clock that is `offsetNs` ahead when the worker reads it. */
function trip(clock: ClockSync, sentNs: number, thereNs: number, backNs: number, offsetNs: number): void {
  clock.add(sentNs, sentNs + thereNs + offsetNs, sentNs + thereNs + backNs);
}

describe('clock sync', () => {
  it('takes the middle of a round trip, whose half is the error', () => {
    const clock = new ClockSync();
    trip(clock, 1000, 400, 400, -3 * NS_PER_HOUR);
    expect(clock.offsetNs).toBe(-3 * NS_PER_HOUR);
    // Rounded up.
    expect(clock.errorNs(1800)).toBe(402);
  });

  it('prefers the shortest round trip', () => {
    const clock = new ClockSync();
    trip(clock, 0, 50_000, 10_000, 7);
    trip(clock, 100_000, 200, 200, 7);
    trip(clock, 200_000, 90_000, 1000, 7);
    expect(clock.offsetNs).toBe(7);
    expect(clock.roundTripNs).toBe(400);
  });

  it('lets an old short round trip go for a new one when drift may have made it worse', () => {
    const clock = new ClockSync();
    trip(clock, 0, 10_000, 10_000, 0);
    trip(clock, 3 * NS_PER_S, 60_000, 60_000, 45_000);
    expect(clock.offsetNs).toBe(0);
    trip(clock, 4 * NS_PER_S, 60_000, 60_000, 60_000);
    expect(clock.offsetNs).toBe(60_000);
  });

  it('follows a clock that has jumped at once', () => {
    const clock = new ClockSync();
    trip(clock, 0, 1000, 1000, 0);
    trip(clock, 10_000, 50_000, 50_000, NS_PER_S);
    expect(clock.offsetNs).toBe(NS_PER_S);
  });

  it('is never further off than it says, whatever the delays and the drift', () => {
    const wait = fc.integer({ min: 0, max: 5 * NS_PER_S });
    const delay = fc.oneof(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: NS_PER_S }));
    const trips = fc.array(fc.tuple(wait, delay, delay), { minLength: 1, maxLength: 60 });
    const drift = fc.double({ min: -MAX_DRIFT, max: MAX_DRIFT, noNaN: true });
    const ahead = fc.integer({ min: -100 * NS_PER_HOUR, max: 100 * NS_PER_HOUR });
    fc.assert(
      fc.property(trips, drift, ahead, wait, (all, rate, aheadNs, laterNs) => {
        const clock = new ClockSync();
        const offsetAt = (nowNs: number) => Math.round(aheadNs + rate * nowNs);
        let nowNs = 0;
        for (const [waitNs, thereNs, backNs] of all) {
          const sentNs = nowNs + waitNs;
          nowNs = sentNs + thereNs + backNs;
          clock.add(sentNs, sentNs + thereNs + offsetAt(sentNs + thereNs), nowNs);
          expect(Number.isSafeInteger(clock.offsetNs)).toBe(true);
          // One more for the rounding of the true offset to whole ns, here and above.
          expect(Math.abs(clock.offsetNs - offsetAt(nowNs))).toBeLessThanOrEqual(clock.errorNs(nowNs) + 1);
        }
        const endNs = nowNs + laterNs;
        expect(Math.abs(clock.offsetNs - offsetAt(endNs))).toBeLessThanOrEqual(clock.errorNs(endNs) + 1);
      }),
    );
  });

  it('never knows less than the last round trip showed', () => {
    const delay = fc.integer({ min: 0, max: NS_PER_S });
    fc.assert(
      fc.property(fc.array(fc.tuple(delay, delay, fc.integer()), { minLength: 1 }), (all) => {
        const clock = new ClockSync();
        let nowNs = 0;
        for (const [thereNs, backNs, offsetNs] of all) {
          trip(clock, nowNs, thereNs, backNs, offsetNs);
          nowNs += thereNs + backNs;
          const roundTripNs = thereNs + backNs;
          expect(clock.errorNs(nowNs)).toBeLessThanOrEqual(roundTripNs * (0.5 + MAX_DRIFT) + 2);
        }
      }),
    );
  });
});
