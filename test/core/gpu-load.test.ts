import { describe, expect, it } from 'vitest';
import { GpuLoad } from '../../src/core/gpu-load.js';

const MS = 1e6;

describe('how idle GPUs are', () => {
  it('is the mean over those that are used, each as busy as the busier of its lanes', () => {
    const load = new GpuLoad(3);
    load.ran(0, true, 30 * MS);
    load.ran(0, true, 50 * MS);
    load.ran(0, false, 10 * MS);
    load.ran(2, true, 20 * MS);
    load.ran(2, false, 60 * MS);
    load.look(100 * MS, 1);
    expect(load.idle).toBeCloseTo((0.2 + 0.4) / 2, 12);
  });

  it('is all where no GPU is in use, and nothing of one that ran longer than time has passed', () => {
    const load = new GpuLoad(2);
    load.ran(1, true, 9 * MS);
    load.look(100 * MS, 1);
    expect(load.idle).toBe(1);
    // The whole action counts when it ends.
    load.ran(0, true, 250 * MS);
    load.look(100 * MS, 1);
    expect(load.idle).toBe(0);
  });

  it('is remembered: each look adds its part', () => {
    const load = new GpuLoad(1);
    for (const busyMs of [100, 0]) {
      load.ran(0, true, busyMs * MS);
      load.look(100 * MS, 0.5);
    }
    expect(load.idle).toBeCloseTo(1 - 0.25, 12);
    load.forget();
    load.look(100 * MS, 0.5);
    expect(load.idle).toBe(1);
  });
});
