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
});
