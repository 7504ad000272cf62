import { describe, expect, it } from 'vitest';
import { Action, INFER, LOAD, STATUS_OK } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import { OUTCOME_OK, OUTCOME_REJECTED, RequestTable } from '../../src/core/request.js';
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE, Tenants } from '../../src/core/tenants.js';
import { model } from './fixtures.js';

const MS = 1e6;
const S = 1e9;
const SLO_NS = 100 * MS;
const ANY = { rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 1 };

/** Two tenants of a cluster whose model 0 takes 1 ms for a request, and model 1 takes 10 ms. */
class Harness {
  private readonly requests = new RequestTable();
  private readonly tenants: Tenants;
  limit = LIMIT_NONE;

  constructor(first: Partial<typeof ANY> = {}, oneLane = false) {
    const models = [1, 10].map((ms) =>
      model({ name: `${ms} ms`, batchSizes: [1], execNs: [ms * MS], loadNs: 5 * MS }),
    );
    const cluster = new Cluster({ models, gpus: 1, pages: 6, oneLane });
    const list = [
      { name: 'a', ...ANY, ...first },
      { name: 'b', ...ANY },
    ];
    this.tenants = Tenants.open(list, cluster, this.requests) as Tenants;
  }

  /** An action of the GPU that has begun so long ago has a result. */
  end(kind: typeof LOAD | typeof INFER, durationNs: number, nowNs: number, status = STATUS_OK): void {
    const result = { kind, gpu: 0, status, beginNs: nowNs - durationNs, endNs: nowNs };
    this.tenants.ended(Object.assign(new Action(1), result));
  }

  /** A request of the tenant, on its way for a while; whether it went on. */
  send(tenant: number, nowNs: number, isServed: boolean, { wayNs = 0, index = 0 } = {}): boolean {
    const slot = this.requests.allocate(index, nowNs - wayNs, SLO_NS, 0, 0, tenant);
    const goesOn = this.tenants.admits(slot, nowNs);
    this.limit = this.requests.limit[slot];
    this.tenants.answered(slot, goesOn && isServed ? OUTCOME_OK : OUTCOME_REJECTED);
    this.requests.release(slot);
    return goesOn;
  }
}

describe('tenants', () => {
  it('share GPU time, not requests', () => {
    const harness = new Harness();
    const servedNs = [0, 0];
    let budgetNs = 0;
    for (let nowNs = 0; nowNs < 40 * S; nowNs += MS) {
      budgetNs = Math.min(50 * MS, budgetNs + MS);
      // Of one GPU: the first asks for 2 s a second in requests of 1 ms, the second in requests of 10 ms.
      for (const index of nowNs % (5 * MS) === 0 ? [0, 0, 1] : [0, 0]) {
        const costNs = index === 0 ? MS : 10 * MS;
        const isServed = budgetNs >= costNs;
        if (!harness.send(index, nowNs, isServed, { index }) || !isServed) continue;
        harness.end(INFER, costNs, nowNs);
        budgetNs -= costNs;
        if (nowNs > 10 * S) servedNs[index] += costNs;
      }
    }
    expect(servedNs[0] / servedNs[1]).toBeGreaterThan(0.7);
    expect(servedNs[0] / servedNs[1]).toBeLessThan(1.4);
    expect(servedNs[0] + servedNs[1]).toBeGreaterThan(0.85 * 30 * S);
  });

  it('that send beyond their rate are not taken for ones that overload keeps from their share', () => {
    const harness = new Harness({ rateRps: 10, burst: 1 });
    const overRate = [0, 0];
    let served = 0;
    let overShare = 0;
    for (let nowNs = 0; nowNs < 20 * S; nowNs += MS) {
      // The first sends a hundred times its rate, of which all that goes on is served. The other sends twice what can be served.
      if (!harness.send(0, nowNs, true)) overRate[0]++;
      for (let i = 0; i < 2; i++) {
        const goesOn = harness.send(1, nowNs, i === 0);
        if (goesOn && i === 0) {
          served++;
          harness.end(INFER, MS, nowNs);
        }
        if (!goesOn && harness.limit === LIMIT_SHARE) overShare++;
      }
    }
    expect(overRate[0]).toBeGreaterThan(19_000);
    expect(served).toBeGreaterThan(19_000);
    // Of it twice its share may be sent, for the sake of batches: it would be half of that if the first were thought to suffer.
    expect(overShare).toBeLessThan(2000);
  });

  it('are refused what is beyond their rate, and only that', () => {
    const harness = new Harness({ rateRps: 10, burst: 2 });
    const limits = [0, 1, 2, 60, 150].map((ms) => {
      harness.send(0, S + ms * MS, true);
      return harness.limit;
    });
    expect(limits).toEqual([LIMIT_NONE, LIMIT_NONE, LIMIT_RATE, LIMIT_RATE, LIMIT_NONE]);
    expect(harness.send(1, S + 150 * MS, true)).toBe(true);
    expect(harness.limit).not.toBe(LIMIT_SHARE);
  });

  /** After a slow second one of 14 requests fails; the GPU does `work` each 10 ms. Refused in the last 5 s of 40. */
  function refusedWith(work: (harness: Harness, nowNs: number) => void, oneLane = false): number {
    const harness = new Harness({}, oneLane);
    let refused = 0;
    let count = 0;
    for (let ms = 0; ms < 40_000; ms++) {
      if (ms % 10 === 0) work(harness, ms * MS);
      for (const tenant of ms % 10 === 0 ? [0, 1, 1, 1, 1, 1] : [1])
        if (!harness.send(tenant, ms * MS, ++count % (ms < 1000 ? 2 : 14) !== 0) && ms >= 35_000) refused++;
    }
    return refused;
  }

  it('may send more while the busier lane of the GPU is idle at times', () => {
    const both = (harness: Harness, nowNs: number) => {
      harness.end(INFER, 6 * MS, nowNs);
      harness.end(LOAD, 5 * MS, nowNs);
    };
    expect(refusedWith(both)).toBe(0);
    expect(refusedWith(both, true)).toBeGreaterThan(1000);
    expect(refusedWith((harness, nowNs) => harness.end(LOAD, 10 * MS, nowNs))).toBeGreaterThan(1000);
  });
});
