import { describe, expect, it } from 'vitest';
import { parseProfile, profileSpread } from '../../src/config/read-profile.js';
import { madeUpProfile } from '../made-up-profile.js';
import { failure } from './failure.js';

function spread(batch: object, load: object = {}) {
  const profile = madeUpProfile({ loadMs: 2, ...load, batches: [{ batch: 1, medianMs: 10, ...batch }] });
  return profileSpread(parseProfile(JSON.stringify(profile), 'p.json'));
}

describe('profileSpread', () => {
  it('takes all quantiles that were measured, relative to the median', () => {
    expect(spread({ minMs: 9, p90Ms: 11, p99Ms: 12, maxMs: 30 })?.exec).toEqual([
      { shares: [0, 0.5, 0.9, 0.99, 1], factors: [0.9, 1, 1.1, 1.2, 3] },
    ]);
    expect(spread({ maxMs: 30 }, { loadP99Ms: 4 })).toEqual({
      exec: [{ shares: [0, 0.5, 1], factors: [1, 1, 3] }],
      load: { shares: [0, 0.5, 0.99, 1], factors: [1, 1, 2, 2] },
      switchNs: [0],
    });
  });

  it('knows what an INFER takes longer after another model', () => {
    expect(spread({ afterOtherMs: 11.5 })?.switchNs).toEqual([1_500_000]);
    expect(spread({ afterOtherMs: 9 })).toBeNull();
  });

  it.each([
    [{ p99Ms: 9 }, {}, 'p.json: batches.0: minMs, medianMs, p90Ms, p99Ms and maxMs must ascend'],
    [{}, { loadP99Ms: 3, loadMaxMs: 2.5 }, 'p.json: loadMs: loadMs, loadP99Ms and loadMaxMs must ascend'],
  ])('refuses quantiles that cross: %j %j', (batch, load, message) => {
    const error = failure(() => spread(batch, load));
    expect([error.code, error.message.replace(/:\d+/, '')]).toEqual(['E_PROFILE', message]);
  });
});
