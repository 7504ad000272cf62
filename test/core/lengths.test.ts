import { describe, expect, it } from 'vitest';
import { INFER } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import { bucketOf, type Padding, unmixed } from '../../src/core/lengths.js';
import { checkModel, type ModelSpec } from '../../src/core/model.js';
import { action, model } from './fixtures.js';

const MS = 1_000_000;
/** Batches of 1, 2 and 4; lengths up to 16, 64 and 256. */
const times = [
  [1 * MS, 2 * MS, 3 * MS],
  [2 * MS, 4 * MS, 6 * MS],
  [8 * MS, 12 * MS, 20 * MS],
];

function texts(over: Partial<ModelSpec> = {}): ModelSpec {
  return model({
    batchSizes: [1, 2, 4],
    lengths: [16, 64, 256],
    execNs: times[2]!,
    execNsByLength: times,
    ...over,
  });
}

function cluster(padding: Padding, ...models: ModelSpec[]): Cluster {
  return new Cluster({ models, gpus: 1, pages: 100, padding });
}

describe('lengths', () => {
  it('pads an input to the first bucket that holds it, one of unknown length to the last', () => {
    expect([1, 16, 17, 64, 65, 256, 0].map((length) => bucketOf(texts(), length))).toEqual([
      0, 0, 1, 1, 2, 2, 2,
    ]);
    expect(bucketOf(model({}), 1000)).toBe(0);
  });

  it('are learned of apart, or together where the policy does not tell them apart', () => {
    const ran = { ...action(0, INFER), bucket: 0, batchIndex: 1, beginNs: 0, endNs: 5 * MS };
    const known = cluster('bucket', texts());
    known.measuredExec(ran);
    expect(known.execNsAt(0, 0, 1, 0)).toBe(Math.floor(2 * MS + 0.99 * 3 * MS));
    expect(known.execNsAt(0, 0, 1, 2)).toBe(12 * MS);
    const unknown = cluster('batch', texts());
    unknown.measuredExec({ ...ran, endNs: 20 * MS });
    expect(unknown.execNsAt(0, 0, 1, 0)).toBe(unknown.execNs(0, 0, 1));
    expect(unknown.execNs(0, 0, 1)).toBe(Math.floor(12 * MS + 0.99 * 8 * MS));
    expect([...unknown.rows.buckets]).toEqual([1]);
    // Such a policy would mix lengths that no batch can hold.
    const equal = texts({ equalLengths: true });
    const sizes = (['batch', 'bucket'] as const).map((padding) => unmixed(equal, padding).batchSizes);
    expect(sizes).toEqual([[1], [1, 2, 4]]);
  });

  it('come with a model that takes the place of one without, and go again', () => {
    const changing = new Cluster({
      models: [model({})],
      gpus: 1,
      pages: 100,
      spareModels: 1,
      spareBatch: 4,
      padding: 'bucket',
    });
    changing.putModel(1, texts());
    expect([0, 1, 2].map((bucket) => changing.execNsAt(0, 1, 2, bucket))).toEqual([3 * MS, 6 * MS, 20 * MS]);
    changing.removeModel(1);
    changing.putModel(1, model({ name: 'plain' }));
    expect(changing.execNsAt(0, 1, 1, 0)).toBe(changing.execNs(0, 0, 1));
    expect(changing.rows.buckets[1]).toBe(1);
  });

  it.each([
    [{ lengths: [16, 16, 256] }, 'lengths must ascend and be whole numbers from 1 on, found 16, 16, 256'],
    [{ lengths: [0, 16, 256] }, 'lengths must ascend and be whole numbers from 1 on, found 0, 16, 256'],
    [{ lengths: [16, 256] }, 'needs execution times for each length'],
    [{ lengths: [] }, 'needs 1 to 64 lengths, found 0'],
    [{ execNs: times[1]! }, 'times of the longest length must be its own'],
    [
      { execNsByLength: [times[0]!, [1 * MS, 2 * MS], times[2]!] },
      'at length 64, needs one execution time for each batch size',
    ],
  ] satisfies [Partial<ModelSpec>, string][])('that can not be are refused: %j', (over, message) => {
    expect(() => checkModel(texts(over))).toThrow(message);
  });
});
