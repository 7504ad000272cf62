import { describe, expect, it } from 'vitest';
import { estimate } from '../../../src/report/statistics.js';
import { bottleneckOf, isAbove } from '../../../src/tools/bench/bottleneck.js';
import { figure } from '../../../src/tools/bench/result.js';
import { runOf, service } from './fixtures.js';

describe('the bottleneck', () => {
  it.each<[number, number, number, string]>([
    [5000, 300, 290, 'device'],
    [5000, 300, 275, 'device'],
    [5000, 30_000, 4900, 'io'],
    [5000, 300, 200, 'between'],
    [5000, 30_000, 2000, 'between'],
    [300, 301, 295, 'unclear'],
  ])('with IO %i, the device %i and FULL %i is %s', (io, device, full, bottleneck) => {
    expect(runOf(null, [io, device, full]).bottleneck).toBe(bottleneck);
  });

  it('is not clear where the trials scatter as much as FULL is behind, and after one trial', () => {
    expect(runOf(null, [5000, 300, 200], { spread: 1 }).bottleneck).toBe('unclear');
    const { stages } = runOf(null, [5000, 300, 290]);
    const once = stages.map((stage) => ({ ...stage, throughputRps: figure([stage.throughputRps.mean]) }));
    expect(bottleneckOf({ stages: once })).toBe('unclear');
  });

  it('is the clients where they can send no more, unless the device is slower still or the server as busy', () => {
    const saturated = (server: number) => ({
      change: {
        service: service({ generator: { busy: 0.97, cores: 1 }, server: { busy: server, cores: 1 } }),
      },
    });
    expect(runOf(null, [5000, 30_000, 4900], saturated(0.6)).bottleneck).toBe('generator');
    expect(runOf(null, [5000, 300, 290], saturated(0.6)).bottleneck).toBe('device');
    expect(runOf(null, [5000, 30_000, 4900], saturated(0.98)).bottleneck).toBe('io');
  });
});

describe('a difference', () => {
  it('is beyond the noise if the interval of Welch is above 0', () => {
    // Variances 4 and 38/3: 4.8 degrees of freedom, rounded down to 4; half of the interval is 5.89.
    const noisy = [1, 2, 9, 4];
    expect(isAbove(estimate([10, 12, 14]), estimate(noisy))).toBe(true);
    expect(isAbove(estimate([7.8, 9.8, 11.8]), estimate(noisy))).toBe(false);
    expect(isAbove(estimate([9.9, 9.9]), estimate([9.8, 9.8]))).toBe(true);
    expect(isAbove(estimate([300]), estimate([1, 1]))).toBe(false);
  });
});
