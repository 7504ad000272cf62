import { describe, expect, it } from 'vitest';
import { monotonicNs } from '../../src/base/clock/clock.js';
import { areApart, buffersOf, copied, ExecLine, freeLarge, Signal } from '../../src/live/transfer.js';

it('only tensors of more than 16 KiB are apart, and only in a batch', () => {
  expect(areApart([{ bytes: 16_384 }, { bytes: 16_385 }], 2)).toBe(true);
  expect(areApart([{ bytes: 16_385 }], 1)).toBe(false);
  expect(areApart([{ bytes: 16_384 }], 8)).toBe(false);
});

describe('tensors for another thread', () => {
  it('are copied into one buffer, aligned', () => {
    const whole = new Uint8Array([1, 2, 3]);
    const copies = copied([whole, whole.subarray(1), new Uint8Array(0), Buffer.from('abc')]);
    expect(copies.map((bytes) => [...bytes])).toEqual([[1, 2, 3], [2, 3], [], [97, 98, 99]]);
    expect(new Set(copies.map(({ buffer }) => buffer)).size).toBe(1);
    expect(copies.every(({ buffer, byteOffset }) => buffer !== whole.buffer && byteOffset % 8 === 0)).toBe(
      true,
    );
  });

  it('are handed over once each', () => {
    const [shared, other] = [new Uint8Array(4), new Uint8Array(4)];
    expect(buffersOf([[shared, other], [shared], [new Uint8Array(0)], []])).toEqual([
      shared.buffer,
      other.buffer,
    ]);
  });
});

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

it('frees the buffers of large tensors at once, and leaves small ones alone', () => {
  const body = new Uint8Array(40_000_000).fill(1);
  const small = new Uint8Array(100);
  const beforeBytes = process.memoryUsage().arrayBuffers;
  freeLarge([body.subarray(0, 20_000_000), small, body.subarray(20_000_000)]);
  expect(body.length).toBe(0);
  expect(small.length).toBe(100);
  expect(beforeBytes - process.memoryUsage().arrayBuffers).toBeGreaterThan(39_000_000);
  // What is gone already is no mistake.
  expect(() => freeLarge([body, small])).not.toThrow();
});

describe('ExecLine', () => {
  it('hands one INFER over and its end back, each once', () => {
    const executor = new ExecLine();
    const host = new ExecLine(executor.buffer);
    expect([host.asked, executor.takeEnd()]).toEqual([-1, null]);
    executor.ask(2 ** 40);
    expect([host.asked, executor.takeEnd()]).toEqual([2 ** 40, null]);
    const end = { status: 81, beginNs: 2 ** 52 + 1, endNs: 2 ** 52 + 2, copyInNs: 3, copyOutNs: 2 ** 40 };
    host.end(end);
    expect(host.asked).toBe(-1);
    expect(executor.takeEnd()).toEqual(end);
    expect([host.asked, executor.takeEnd()]).toEqual([-1, null]);
  });
});
