import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { INFER, STATUS_ABORTED, STATUS_OK } from '../../src/core/action.js';
import { type DeviceNoise, NO_NOISE, SimDevice, type SimDeviceOptions } from '../../src/sim/device.js';
import { EventQueue } from '../../src/sim/event-queue.js';
import { action, model } from '../core/fixtures.js';

function device(
  noise: DeviceNoise = NO_NOISE,
  copyBytesPerS = Number.POSITIVE_INFINITY,
  seed = 1,
  departures: Partial<SimDeviceOptions> = {},
) {
  const events = new EventQueue();
  const made = new SimDevice({
    gpu: 0,
    models: [model()],
    events,
    clock: { nowNs: 1000 },
    copyBytesPerS,
    noise,
    execRandom: stream(seed, 'exec-noise'),
    loadRandom: stream(seed, 'load-noise'),
    kind: 0,
    spreads: null,
    exponential: false,
    overheadNs: 0,
    abortNs: 0,
    ...departures,
  });
  /** How long what was started takes. */
  const duration = () => events.pop().timeNs - 1000;
  return { made, duration };
}

function infer(batchIndex: number, count = 1) {
  return Object.assign(action(0, INFER), { batchIndex, count });
}

/** Durations of many runs of 3 ms, relative to that. */
function samples(noise: DeviceNoise, seed = 1): number[] {
  const { made, duration } = device(noise, undefined, seed);
  return Array.from({ length: 20_000 }, () => {
    made.startExec(infer(0), 1000);
    return duration() / 3e6;
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('SimDevice', () => {
  it('draws noise of the configured deviation around the profile', () => {
    const drawn = samples({ ...NO_NOISE, exec: 0.05 });
    const average = mean(drawn);
    expect(Math.abs(average - 1)).toBeLessThan(0.002);
    const deviation = Math.sqrt(mean(drawn.map((value) => (value - average) ** 2)));
    expect(Math.abs(deviation - 0.05)).toBeLessThan(0.002);
  });

  it('never takes less than a tenth of the profile, however strong the noise', () => {
    const drawn = samples({ ...NO_NOISE, exec: 3 });
    expect(drawn.reduce((least, value) => Math.min(least, value))).toBeCloseTo(0.1, 9);
  });

  it('takes longer by what the profile says when another model ran before', () => {
    const spreads = [{ exec: [null, null, null], load: null, switchNs: [700_000, 900_000, 0] }, null];
    const { made, duration } = device(NO_NOISE, undefined, 1, { spreads, models: [model(), model()] });
    const durations = [0, 0, 1, 0].map((index) => {
      made.startExec(Object.assign(infer(0), { model: index }), 0);
      return duration();
    });
    expect(durations).toEqual([3_700_000, 3_000_000, 3_000_000, 3_700_000]);
    made.startExec(Object.assign(infer(0), { model: 1 }), 0);
    duration();
    made.startExec(infer(1), 0);
    expect(duration()).toBe((model().execNs[1] as number) + 900_000);
  });

  it('draws durations from the quantiles of the model where it has them', () => {
    const exec = { shares: [0, 0.5, 1], factors: [0.9, 1, 2] };
    const spreads = [
      { exec: [exec, null, null], load: { shares: [0, 1], factors: [3, 3] }, switchNs: [0, 0, 0] },
    ];
    const { made, duration } = device(NO_NOISE, undefined, 1, { spreads });
    const drawn = Array.from({ length: 20_000 }, () => {
      made.startExec(infer(0), 1000);
      return duration() / 3e6;
    }).sort((a, b) => a - b);
    // A quarter of the runs takes up to 0.95 of the median, three quarters up to 1.5 times it.
    for (const [rank, expected] of [
      [0, 0.9],
      [5000, 0.95],
      [10_000, 1],
      [15_000, 1.5],
      [19_999, 2],
    ] as const)
      expect(Math.abs((drawn[rank] as number) - expected)).toBeLessThan(0.02);
    made.startExec(infer(1), 1000);
    expect(duration()).toBe(5e6);
    made.startLoad(action(0), 1000);
    expect(duration()).toBe(24e6);
  });

  it('begins an action only after its overhead, which counts as neither EXEC nor LOAD', () => {
    const { made, duration } = device(NO_NOISE, undefined, 1, { overheadNs: 50_000 });
    const started = infer(0);
    // The worker's clock may show another time than the device's.
    made.startExec(started, 7000);
    expect([started.beginNs, duration()]).toEqual([57_000, 3e6 + 50_000]);
    made.startLoad(action(0), 7000);
    expect(duration()).toBe(8e6 + 50_000);
  });

  it('stops an INFER after the time that takes, unless it ends before', () => {
    const { made, duration } = device(NO_NOISE, undefined, 1, { abortNs: 1e6 });
    made.startExec(infer(0), 1000);
    made.abort();
    // Asking again brings nothing.
    made.abort();
    expect([duration(), made.execStatus]).toEqual([1e6, STATUS_ABORTED]);
    expect(made.isExecEnd(2)).toBe(true);
    expect(made.isExecEnd(1)).toBe(false);
    expect(duration()).toBe(3e6);
    made.startExec(infer(0), 1000);
    expect([duration(), made.execStatus]).toEqual([3e6, STATUS_OK]);

    const slow = device(NO_NOISE, undefined, 1, { abortNs: 3e6 });
    slow.made.startExec(infer(0), 1000);
    slow.made.abort();
    expect([slow.duration(), slow.made.execStatus]).toEqual([3e6, STATUS_OK]);
  });
});
