import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Booking } from '../../src/core/booking.js';
import { LaneTimeline } from '../../src/core/timeline.js';

const MS = 1_000_000;

const operation = fc.record({
  afterNs: fc.oneof(fc.nat(2 * MS), fc.nat(20 * MS)),
  gpu: fc.nat(2),
  finish: fc.boolean(),
  sizeNs: fc.nat(8 * MS),
});

describe('Booking', () => {
  it('holds open exactly the lanes that are booked less than schedule_ahead into the future', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), fc.nat(15 * MS), (ops, aheadNs) => {
        const lanes = [new LaneTimeline(), new LaneTimeline(), new LaneTimeline()];
        const sent: number[][] = [[], [], []];
        const booking = new Booking(lanes, aheadNs);
        let nowNs = 0;
        for (const [id, { afterNs, gpu, finish, sizeNs }] of ops.entries()) {
          nowNs += afterNs;
          booking.advance(nowNs);
          const done = finish ? sent[gpu].shift() : undefined;
          if (done !== undefined) lanes[gpu].finish(done, nowNs);
          else {
            lanes[gpu].add(id, sizeNs, nowNs);
            sent[gpu].push(id);
          }
          booking.update(gpu, nowNs);
          for (const [g, lane] of lanes.entries()) {
            expect(booking.isOpen(g)).toBe(lane.availableNs(nowNs) - nowNs < aheadNs);
          }
        }
      }),
    );
  });

  it('knows when the next lane opens by itself, and follows a new schedule_ahead', () => {
    const lanes = [new LaneTimeline(), new LaneTimeline()];
    const booking = new Booking(lanes, 5 * MS);
    expect(booking.nextOpeningNs).toBe(Number.POSITIVE_INFINITY);
    for (const [gpu, sizeNs] of [20 * MS, 12 * MS].entries()) {
      lanes[gpu].add(gpu, sizeNs, 0);
      booking.update(gpu, 0);
    }
    // Strictly less than 5 ms ahead.
    expect(booking.nextOpeningNs).toBe(7 * MS + 1);
    booking.setAhead(15 * MS, 1 * MS);
    expect([booking.isOpen(0), booking.isOpen(1)]).toEqual([false, true]);
    expect(booking.nextOpeningNs).toBe(5 * MS + 1);
    booking.setAhead(2 * MS, 1 * MS);
    expect([booking.isOpen(0), booking.isOpen(1)]).toEqual([false, false]);
    expect(booking.nextOpeningNs).toBe(10 * MS + 1);
    booking.opened = false;
    booking.advance(10 * MS + 1);
    expect([booking.isOpen(0), booking.isOpen(1), booking.opened]).toEqual([false, true, true]);
    expect(booking.nextOpeningNs).toBe(18 * MS + 1);
    lanes[0].finish(0, 12 * MS);
    booking.update(0, 12 * MS);
    expect(booking.nextOpeningNs).toBe(Number.POSITIVE_INFINITY);
  });
});
