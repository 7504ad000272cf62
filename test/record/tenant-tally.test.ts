import { expect, it } from 'vitest';
import { OUTCOME_OK, RequestTable } from '../../src/core/request.js';
import { TenantTally } from '../../src/record/tenant-tally.js';
import { action, MS, S } from './fixtures.js';

const tenants = [
  { name: 'small', share: 0.5 },
  { name: 'large', share: 1.5 },
].map((each) => ({ ...each, rateRps: Number.POSITIVE_INFINITY, burst: 1 }));

it('tenants have their parts of batches as GPU time, next to what their shares come to', () => {
  const tally = new TenantTally({ tenants, seesScheduler: true, warmupNs: 2 * MS, durationNs: 1 * S });
  const requests = new RequestTable();
  const infer = (ofTenant: readonly number[], beginMs: number, endMs: number) => {
    const ran = action({ count: ofTenant.length, beginNs: beginMs * MS, endNs: endMs * MS });
    for (const tenant of ofTenant) {
      const slot = requests.allocate(0, 0, 100 * MS, 0);
      requests.tenant[slot] = tenant;
      tally.answered(requests, slot, OUTCOME_OK, endMs * MS, 1, ran);
    }
  };
  // 8 ms count of the first, whose requests came before the end of the warm-up, and 2 of the second.
  infer([0, 1, 1, 1], 0, 10);
  infer([1], 10, 12);
  expect(tally.figures().map(({ share, gpuShare }) => [share, gpuShare])).toEqual([
    [0.25, 0.2],
    [0.75, 0.8],
  ]);
});

it('a client sees no GPU time', () => {
  const tally = new TenantTally({ tenants, seesScheduler: false, warmupNs: 0, durationNs: 1 * S });
  expect(tally.figures().map(({ share, gpuShare }) => [share, gpuShare])).toEqual([
    [0.25, null],
    [0.75, null],
  ]);
});
