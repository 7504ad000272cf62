import { describe, expect, it } from 'vitest';
import { profileModel } from '../../src/config/profile.js';
import { parseProfile } from '../../src/config/read-profile.js';
import { failure } from './failure.js';

const SOURCE = { weights: 'w', load: 'l', copies: 'c', batches: 'b' };
const PROFILE = {
  name: 'm',
  gpu: 'V100',
  runtime: 'TVM',
  precision: 'FP32',
  weightsBytes: 33_554_432,
  loadMs: 2,
  inputBytes: 10,
  outputBytes: 20,
  batches: [
    { batch: 1, medianMs: 2, p99Ms: 2.5 },
    { batch: 4, medianMs: 4, runs: 100 },
  ],
  source: SOURCE,
};

const parse = (profile: object) => parseProfile(JSON.stringify(profile, null, 1), 'p.json');

describe('profile', () => {
  it('becomes a model', () => {
    expect(profileModel(parse(PROFILE), 'x', 16 * 1024 * 1024)).toEqual({
      name: 'x',
      weightsBytes: 33_554_432,
      pages: 2,
      loadNs: 2_000_000,
      batchSizes: [1, 4],
      execNs: [2_000_000, 4_000_000],
      inputBytes: 10,
      outputBytes: 20,
    });
  });

  it.each([
    ['no load time', { ...PROFILE, loadMs: undefined }, 'p.json: loadMs: is missing, and has no default'],
    [
      'no source',
      { ...PROFILE, source: { ...SOURCE, load: undefined } },
      'p.json:22: source.load: is missing, and has no default',
    ],
    ['negative time', { ...PROFILE, loadMs: -1 }, /^p\.json:7: loadMs: must be above 0, found -1/],
    [
      'unknown key',
      { ...PROFILE, weightBytes: 1 },
      'p.json:28: weightBytes: unknown key "weightBytes": did you mean "weightsBytes"?',
    ],
    [
      'first batch',
      { ...PROFILE, batches: PROFILE.batches.slice(1) },
      'p.json:12: batches.0.batch: batch sizes must start with 1 and ascend',
    ],
    ['none', { ...PROFILE, batches: [] }, 'p.json:10: batches: is an empty list: write at least one item'],
  ])('refuses %s', (_, profile, message) => {
    const error = failure(() => parse(profile));
    expect(error.code).toBe('E_PROFILE');
    expect(error.message).toMatch(message);
  });
});
