import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Busyness } from '../../../src/policies/escapement/placement.js';

const GPUS = 7;

it('orders as sorting by how busy each one is would', () => {
  const event = fc.record({
    gpu: fc.nat(GPUS - 1),
    tookMs: fc.integer({ min: 1, max: 4 }),
    wanted: fc.nat(2 ** GPUS - 1),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const busyness = new Busyness(GPUS);
      const ran: { gpu: number; tookNs: number; endNs: number }[] = [];
      events.forEach(({ gpu, tookMs, wanted }, i) => {
        const endNs = (i + 1) * 300e6;
        ran.push({ gpu, tookNs: tookMs * 1e6, endNs });
        busyness.ran(gpu, endNs - tookMs * 1e6, endNs);
        const busy = (one: number) =>
          ran
            .filter((each) => each.gpu === one)
            .reduce((sum, each) => sum + each.tookNs * Math.exp((each.endNs - endNs) / 1e9), 0);
        const list = new Int32Array(GPUS);
        const isWanted = (one: number) => (wanted & (1 << one)) !== 0;
        const listed = [...list.subarray(0, busyness.list(list, endNs, isWanted))];
        const all = Array.from({ length: GPUS }, (_, one) => one).filter(isWanted);
        expect(listed.toSorted((a, b) => a - b)).toEqual(all);
        // Sums in another order may differ in their last digits.
        listed.forEach((one, at) => {
          if (at > 0) expect(busy(one)).toBeGreaterThanOrEqual(busy(listed[at - 1]) * (1 - 1e-9));
        });
      });
    }),
  );
});

it('equally busy GPUs come by number, whatever came before', () => {
  const busyness = new Busyness(3);
  const list = new Int32Array(3);
  busyness.ran(0, 0, 1e6);
  busyness.list(list, 2e6, () => true);
  expect([...list]).toEqual([1, 2, 0]);
  busyness.ran(2, 1e6, 2e6);
  busyness.ran(1, 1e6, 2e6);
  busyness.list(list, 3e6, () => true);
  expect([...list]).toEqual([0, 1, 2]);
});
