import { expect, it } from 'vitest';
import { OUTCOME_OK, RequestTable } from '../../src/core/request.js';
import { ClassTally } from '../../src/record/class-tally.js';
import { action, MS, S } from './fixtures.js';

it('requests share the GPU time of their batch, so classes have its parts', () => {
  const classes = [
    { name: 'gold', weight: 10, share: 0 },
    { name: 'others', weight: 1, share: 0 },
  ];
  const tally = new ClassTally({ classes, seesScheduler: true, warmupNs: 0, durationNs: 1 * S });
  const requests = new RequestTable();
  const infer = (ofClass: readonly number[], endMs: number) => {
    const ran = action({ count: ofClass.length, beginNs: 0, endNs: endMs * MS });
    for (const requestClass of ofClass) {
      const slot = requests.allocate(0, 0, 100 * MS, 0, requestClass);
      tally.answered(requests, slot, OUTCOME_OK, endMs * MS, 1, ran);
    }
  };
  infer([0, 0, 0, 1], 8);
  infer([1], 4);
  // 6 ms and 2 + 4 ms.
  expect(tally.figures().classes.map(({ gpuShare }) => gpuShare)).toEqual([0.5, 0.5]);
});
