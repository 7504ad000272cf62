import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { Network, NO_DELAY } from '../../src/sim/network.js';

describe('Network', () => {
  it('never lets one message overtake another on the same link, and never beats its delay', () => {
    const message = fc.record({ afterNs: fc.nat(5000), gpu: fc.nat(2), up: fc.boolean() });
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.nat(20_000),
        fc.nat(),
        fc.array(message),
        (delayNs, jitterNs, seed, messages) => {
          const network = new Network(3, { delayNs, jitterNs }, stream(seed, 'network'));
          const last = new Map<string, number>();
          let nowNs = 0;
          for (const { afterNs, gpu, up } of messages) {
            nowNs += afterNs;
            const atNs = up ? network.toController(gpu, nowNs) : network.toWorker(gpu, nowNs);
            const link = `${gpu} ${up}`;
            expect(Number.isInteger(atNs)).toBe(true);
            expect(atNs).toBeGreaterThanOrEqual(Math.max(nowNs + delayNs, last.get(link) ?? 0));
            last.set(link, atNs);
          }
        },
      ),
    );
  });

  it('lets no message overtake one that was sent when messages took longer', () => {
    const network = new Network(2, { delayNs: 100, jitterNs: 0 }, stream(1, 'network'));
    expect(network.toWorker(0, 0)).toBe(100);
    network.change(NO_DELAY);
    expect([network.toWorker(0, 40), network.toWorker(1, 40)]).toEqual([100, 40]);
    expect(network.toWorker(0, 101)).toBe(101);
    // What is still on its way forbids the short cut of a network without delays.
    expect(network.delays).toBe(true);
    network.change({ delayNs: 7, jitterNs: 0 });
    expect(network.toWorker(0, 200)).toBe(207);
  });
});
