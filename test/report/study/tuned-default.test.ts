import { describe, expect, it } from 'vitest';
import { recommend } from '../../../src/report/study/analyze.js';
import { tunedDefaults } from '../../../src/report/study/tuned-default.js';
import { sweepFixture } from '../fixtures.js';
import { policiesAt } from '../policies-sweep.js';

describe('tunedDefaults', () => {
  it('is the best fixed value of the default, whatever serves more', () => {
    const goodput: Record<string, number> = {
      '10ms clockwork 5ms 1': 740,
      '10ms clockwork 10ms 1': 665,
      '10ms clockwork auto 1': 748,
      '10ms escapement 5ms 1': 755,
    };
    const results = policiesAt(['10ms'], [1], (id) => goodput[id] ?? 36);
    const [tuned, ...others] = tunedDefaults(results, recommend(results));
    expect(others).toEqual([]);
    expect(tuned?.best.choice).toEqual({ 'policy.kind': 'clockwork', 'policy.scheduleAhead': '5ms' });
    expect(tuned?.improvement).toBeCloseTo(740 / 665);
  });

  it('is not asked for where numbers are all that was varied: it is what is recommended', () => {
    const results = sweepFixture({ seeds: [1] });
    expect(tunedDefaults(results, recommend(results))).toEqual([]);
  });
});
