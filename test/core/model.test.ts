import { describe, expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { checkModel, type ModelSpec } from '../../src/core/model.js';
import { model } from './fixtures.js';

const WRONG: readonly [string, Partial<ModelSpec>, RegExp][] = [
  ['no pages', { pages: 0 }, /at least one page, found 0/],
  ['part of a page', { pages: 1.5 }, /at least one page, found 1.5/],
  ['negative weights', { weightsBytes: -1 }, /weights bytes/],
  ['a load time that is not a number', { loadNs: Number.NaN }, /load time .* found NaN/],
  ['a load that takes no time', { loadNs: 0 }, /load time must be a positive whole number of ns, found 0/],
  ['a negative input', { inputBytes: -5 }, /input and output bytes/],
  ['no batch sizes', { batchSizes: [], execNs: [] }, /batch sizes must start with 1/],
  ['no batch of 1', { batchSizes: [2], execNs: [5] }, /batch sizes must start with 1/],
  ['a batch size without a time', { batchSizes: [1, 2], execNs: [5] }, /one execution time for each/],
  ['batch sizes out of order', { batchSizes: [1, 4, 2], execNs: [1, 2, 3] }, /must ascend/],
  [
    'an execution that takes no time',
    { batchSizes: [1, 2], execNs: [5, 0] },
    /at batch 2 must be a positive/,
  ],
];

describe('checkModel', () => {
  it('returns a usable model', () => {
    const good = model();
    expect(checkModel(good)).toBe(good);
  });

  it.each(WRONG)('refuses %s with E_PROFILE, naming the model', (_, over, message) => {
    const check = () => checkModel(model({ name: 'resnet', ...over }));
    expect(check).toThrow(EscapementError);
    expect(check).toThrow(message);
    expect(check).toThrow(/^model resnet: /);
    expect(check).toThrow(expect.objectContaining({ code: 'E_PROFILE' }));
  });
});
