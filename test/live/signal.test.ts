import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../src/base/clock/clock.js';
import { Signal } from '../../src/live/signal.js';

describe('Signal', () => {
  it('does not wait once it was raised after the count was read', () => {
    const signal = new Signal();
    const { count } = signal;
    new Signal(signal.buffer).raise();
    // For ever, if the signal were missed.
    signal.wait(count, Number.POSITIVE_INFINITY);
    expect(signal.count).not.toBe(count);
  });

  it('waits until the time has come, and not at all when it is past', () => {
    const signal = new Signal();
    for (const aheadNs of [-1_000_000, 0, 20_000, 2_000_000]) {
      const untilNs = monotonicNs() + aheadNs;
      signal.wait(signal.count, untilNs);
      expect(monotonicNs()).toBeGreaterThanOrEqual(untilNs);
    }
  });

  it('wakes what is to stop', () => {
    const signal = new Signal();
    const { count } = signal;
    expect(signal.stopped).toBe(false);
    new Signal(signal.buffer).stop();
    signal.wait(count, Number.POSITIVE_INFINITY);
    expect(signal.stopped).toBe(true);
  });
});
