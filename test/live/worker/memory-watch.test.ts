import { describe, expect, it } from 'vitest';
import { MemoryWatch } from '../../../src/live/worker/local-machine.js';

const MIB = 2 ** 20;
const S = 1e9;
const LEAK = '30 MiB of its memory are in use that nothing accounts for, more than 20% (runtime.memoryLeak)';

/** Of a GPU of 100 MiB. */
class Gpu {
  private readonly watch = new MemoryWatch(0.2);
  private nowNs = 0;
  threads = {};

  get parts() {
    const { weights = 0, start = 0, unaccounted = 0 } = this.watch.use ?? {};
    return [weights, start, unaccounted].map((bytes) => bytes / MIB);
  }

  /** A reading, some seconds after the last. */
  read(used: number, weights: number, afterS = 30): string {
    this.nowNs += afterS * S;
    const memory = { usedBytes: used * MIB, totalBytes: 100 * MIB };
    return this.watch.take(this.threads, memory, weights * MIB, this.nowNs);
  }
}

describe('the memory of a GPU', () => {
  it('is what was there at its start, models, and the rest', () => {
    const gpu = new Gpu();
    expect(gpu.parts).toEqual([0, 0, 0]);
    const said = [gpu.read(10, 0), gpu.read(43, 30), gpu.read(25, 0), gpu.read(28, 0)];
    expect(said).toEqual(['', '', '', '']);
    expect(gpu.parts).toEqual([0, 10, 18]);
  });

  it('is a leak above its share, in two readings', () => {
    const gpu = new Gpu();
    expect([gpu.read(0, 0), gpu.read(25, 0), gpu.read(20, 0), gpu.read(50, 20)]).toEqual(['', '', '', '']);
    expect(gpu.read(50, 20)).toBe(LEAK);
  });

  it('is no leak while models are smaller than their pages, or others give memory back', () => {
    const gpu = new Gpu();
    expect([gpu.read(40, 0), gpu.read(45, 30), gpu.read(30, 0), gpu.read(50, 0)]).toEqual(['', '', '', '']);
    expect(gpu.parts).toEqual([0, 15, 35]);
  });

  it('is looked at afresh when it was restarted, and another restart waits twice as long each time', () => {
    const gpu = new Gpu();
    let lastS = 0;
    const pauses: number[] = [];
    gpu.read(0, 0);
    for (let s = 30; s < 40_000; s += 30) {
      if (gpu.read(30, 0) === '') continue;
      expect(gpu.parts[2]).toBe(30);
      pauses.push(s - lastS);
      lastS = s;
      gpu.threads = {};
      expect(gpu.read(0, 0)).toBe('');
      s += 30;
    }
    expect(pauses.slice(0, 3)).toEqual([60, 90, 120]);
    expect(pauses.slice(3, 8)).toEqual([240, 480, 960, 1920, 3600]);
    expect(new Set(pauses.slice(8))).toEqual(new Set([3600]));
  });
});
