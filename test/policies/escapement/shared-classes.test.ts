import { describe, expect, it } from 'vitest';
import { ONE_CLASS } from '../../../src/core/classes.js';
import { Cluster } from '../../../src/core/cluster.js';
import type { Padding } from '../../../src/core/lengths.js';
import type { Dispatcher, PolicyContext } from '../../../src/core/policy.js';
import { RequestTable } from '../../../src/core/request.js';
import { SharedClasses } from '../../../src/policies/escapement/shared-classes.js';
import { model } from '../../core/fixtures.js';
import { createPolicy } from '../../sim/fixtures.js';

const CLASSES = [
  { name: 'gold', weight: 10, share: 0.5 },
  { name: 'bulk', weight: 0.5, share: 0 },
];

function context(padding: Padding, hasShares: boolean, classes: PolicyContext['classes'] = ONE_CLASS) {
  return {
    cluster: new Cluster({ models: [model()], gpus: 1, pages: 20, spareModels: 1, padding }),
    requests: new RequestTable(),
    dispatch: {} as Dispatcher,
    defaultSloNs: 1e8,
    classes,
    hasShares,
  };
}

describe('requests within shares', () => {
  it('weigh more than all others, of any class', () => {
    const given = context('batch', true, CLASSES);
    const { list } = new SharedClasses(given, true);
    expect(list.map(({ name }) => name)).toEqual(['gold', 'bulk', 'gold', 'bulk']);
    const [gold, bulk, goldAbove, bulkAbove] = list.map(({ weight }) => weight);
    expect([gold, bulk]).toEqual([10, 0.5]);
    expect(goldAbove).toBeLessThan(bulk);
    expect(goldAbove / bulkAbove).toBeCloseTo(20, 9);
  });

  it('differ from others by their tenant, where shares go first', () => {
    const given = context('batch', true, CLASSES);
    const { requests } = given;
    requests.requestClass[0] = 1;
    requests.isAboveShare[1] = 1;
    const first = new SharedClasses(given, true);
    expect([first.of(0), first.of(1)]).toEqual([1, 2]);
    const last = new SharedClasses(given, false);
    expect([last.of(0), last.of(1), last.list]).toEqual([1, 0, CLASSES]);
  });

  it('go first unless batches are by length, of models that come later, too', () => {
    const goFirst = (padding: Padding, hasShares: boolean) =>
      createPolicy('escapement')(context(padding, hasShares)).sharesFirst;
    expect([goFirst('batch', true), goFirst('longest', true)]).toEqual([true, true]);
    expect([goFirst('bucket', true), goFirst('batch', false)]).toEqual([false, false]);
  });
});
