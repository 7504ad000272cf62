import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { PriceCurve } from '../../src/bounds/price-curve.js';
import { servableWindows } from '../../src/bounds/requests.js';
import { upperBounds } from '../../src/bounds/upper-bounds.js';
import { model, offered, type Row } from './examples.js';

function curveOf(rows: readonly Row[], sliceNs: number, prices: readonly number[]): PriceCurve {
  const curve = new PriceCurve(servableWindows(offered(rows), [[0]]), sliceNs, 1);
  curve.perNs.set(prices);
  return curve;
}

describe('a price curve', () => {
  // Windows [0, 12] and [25, 40], slices of 10: 10, 2, 5 and 10 of the first four are open.
  it('costs for all time in which a window is open', () => {
    const curve = curveOf(
      [
        [0, 0, 12],
        [0, 25, 15],
      ],
      10,
      [1, 2, 3, 4, 5],
    );
    expect([...curve.openNs]).toEqual([10, 2, 5, 10, 0, 0]);
    expect(curve.settle()).toBe(10 + 4 + 15 + 40);
  });

  it('finds none dearer than any that are tried', () => {
    const seed = 'cheapest';
    const random = stream(seed, 'curves');
    const whole = (most: number) => Math.floor(random() * (most + 1));
    for (let n = 0; n < 200; n++) {
      const prices = Array.from({ length: 12 }, () => whole(9));
      const curve = curveOf([[0, 0, 100]], 10, prices);
      curve.settle();
      const [from, room, exec] = [whole(30), whole(30), 1 + whole(35)];
      const tried = Array.from({ length: room + 1 }, (_, s) => {
        let sum = 0;
        for (let t = from + s; t < from + s + exec; t++) sum += prices[Math.floor(t / 10)];
        return sum;
      });
      expect(curve.cheapest(from, from + room, exec), `seed ${seed}, ${n}`).toBeCloseTo(
        Math.min(...tried),
        9,
      );
    }
  });
});

// A price for all time is too high between the bursts or too low within them.
it('bounds bursts better than a constant price, and than shared costs do', () => {
  const random = stream('bursts', 'arrivals');
  const models = Array.from({ length: 15 }, () => model({ 1: 27, 2: 40, 4: 59, 8: 99 }));
  const rows: Row[] = [];
  for (let burst = 0; burst < 20; burst++) {
    for (let i = 0; i < 750; i++)
      rows.push([Math.floor(random() * 15), burst * 10_000 + Math.floor(random() * 3000), 250]);
    for (let i = 0; i < 40; i++) rows.push([i % 15, burst * 10_000 + 3000 + i * 175, 250]);
  }
  rows.sort(([, left], [, right]) => left - right);
  const { fluid, windowLimited, priced, timePriced } = upperBounds(offered(rows), { models, gpus: 1 });
  expect(timePriced).toBeLessThan(windowLimited);
  expect(timePriced).toBeLessThan(0.95 * (priced ?? 0));
  expect(windowLimited).toBeLessThan(fluid);
});
