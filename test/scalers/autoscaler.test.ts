import { describe, expect, it } from 'vitest';
import { Action, INFER, LOAD, STATUS_OK } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import { OUTCOME_OK, OUTCOME_REJECTED, OUTCOME_TIMEOUT, RequestTable } from '../../src/core/request.js';
import type { ScalingView } from '../../src/core/scaler.js';
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE } from '../../src/core/tenants.js';
import { Autoscaler } from '../../src/scalers/autoscaler.js';

const S = 1e9;
const MS = 1e6;
const MODEL = {
  ...{ name: 'm', weightsBytes: 1, pages: 1, loadNs: 5 * MS, batchSizes: [1, 2], execNs: [10 * MS, 16 * MS] },
  ...{ inputBytes: 1, outputBytes: 1 },
  otherKinds: [{ loadNs: 5 * MS, execNs: [20 * MS, 32 * MS] }],
};
const KIND = { name: 'a', pricePerHour: 1, startNs: S, minLifetimeNs: 0, min: 1, max: 4 };
const ON = { on: 2, starting: 0, draining: 0 };

/** An autoscaler over two GPUs, one of each kind, that knows the first kinds of them; and what its scaler saw last. */
function watched({ kinds = 2, wish = [9, -1], of }: { kinds?: number; wish?: number[]; of?: number[] } = {}) {
  const cluster = new Cluster({
    ...{ models: [MODEL, MODEL], gpus: 2, pages: 4 },
    kinds: [
      { gpus: 1, pages: 4 },
      { gpus: 1, pages: 4 },
    ],
  });
  const requests = new RequestTable();
  const views: ScalingView[] = [];
  const scaler = {
    name: 'test',
    decide: (view: ScalingView) => {
      views.push({ ...view, arrivals: view.arrivals.slice(), reachedNs: view.reachedNs.slice() });
      return { gpus: wish.slice(0, kinds), reason: '' };
    },
  };
  const facts = Array.from({ length: kinds }, () => KIND);
  const autoscaler = new Autoscaler(scaler, facts, 10 * S);
  autoscaler.follow({ cluster, requests }, of);
  const ran = (parts: Partial<Action>) =>
    autoscaler.completed(
      Object.assign(new Action(2), { kind: INFER, status: STATUS_OK, count: 1, ...parts }),
    );
  return { autoscaler, requests, views, ran, counts: facts.map(() => ON) };
}

describe('what an autoscaler shows its scaler', () => {
  it('counts arrivals, also of requests that wait for their answer', () => {
    const { autoscaler, requests, views, counts } = watched();
    const slots = [0, 0, 1].map((model) => requests.allocate(model, 0, 100 * MS, 0));
    autoscaler.decide(counts, 10 * S);
    autoscaler.answered(requests, slots[0], OUTCOME_OK, 0, 1);
    requests.release(slots[0]);
    requests.allocate(1, 0, 100 * MS, 0);
    autoscaler.decide(counts, 20 * S);
    expect(views.map(({ arrivals }) => [...arrivals])).toEqual([
      [2, 1],
      [0, 1],
    ]);
    expect([...views[1].queued]).toEqual([1, 2]);
    expect([views[1].ok, views[1].answered]).toEqual([1, 1]);
  });

  it('tells failures by what more GPUs would do about them, each interval by itself', () => {
    const { autoscaler, requests, views, counts } = watched();
    const slot = requests.allocate(0, 0, 100 * MS, 0);
    autoscaler.answered(requests, slot, OUTCOME_REJECTED, 0, 1);
    autoscaler.answered(requests, slot, OUTCOME_TIMEOUT, 0, 0);
    for (const copies of [1, 2]) autoscaler.answered(requests, slot, OUTCOME_TIMEOUT, 0, copies);
    autoscaler.decide(counts, 10 * S);
    autoscaler.decide(counts, 20 * S);
    expect(views[0].failed).toEqual({ refused: 1, timedOut: 2, cold: 1, late: 0, other: 0 });
    expect(views[1].failed).toEqual({ refused: 0, timedOut: 0, cold: 0, late: 0, other: 0 });
  });

  it('leaves out what was beyond the rate of a tenant, which no GPU changes, but not what was beyond its share', () => {
    const { autoscaler, requests, views, counts } = watched();
    for (const limit of [LIMIT_RATE, LIMIT_SHARE, LIMIT_RATE]) {
      const slot = requests.allocate(0, 0, 100 * MS, 0);
      requests.limit[slot] = limit;
      autoscaler.answered(requests, slot, OUTCOME_REJECTED, 0, 1);
      requests.limit[slot] = LIMIT_NONE;
      requests.release(slot);
    }
    autoscaler.decide(counts, 10 * S);
    expect([...views[0].arrivals]).toEqual([1, 0]);
    expect([views[0].answered, views[0].failed.refused]).toEqual([1, 1]);
  });

  it('measures lanes by kind, and times of requests as on the first kind', () => {
    const { autoscaler, views, ran, counts } = watched();
    ran({ gpu: 1, batchIndex: 1, count: 2, beginNs: 0, endNs: 4 * S });
    ran({ gpu: 0, kind: LOAD, beginNs: 0, endNs: 1 * S });
    autoscaler.decide(counts, 10 * S);
    const [first, second] = views[0].kinds;
    // Two GPUs of each kind are said to be on.
    expect([first.execUtilization, first.weightsUtilization]).toEqual([0, 0.05]);
    expect([second.execUtilization, second.weightsUtilization]).toEqual([0.2, 0]);
    expect([first.speed, second.speed]).toEqual([1, 0.5]);
    expect([...views[0].reachedNs]).toEqual([1 * S, 0]);
  });

  it('predicts the attainment as admission would', () => {
    const { autoscaler, requests, views, counts } = watched();
    // A LOAD of 5 ms and an INFER of 10 ms have to fit.
    for (const [model, sloNs] of [
      [0, 100 * MS],
      [1, 12 * MS],
    ]) {
      const slot = requests.allocate(model, 0, sloNs, 0);
      autoscaler.answered(requests, slot, OUTCOME_OK, 0, 1);
      requests.release(slot);
    }
    autoscaler.decide(counts, 10 * S);
    expect(views[0].predictedAttainment).toBe(0.5);
  });

  it('finds its kinds in a cluster that has them in another order', () => {
    const { autoscaler, views, ran, counts } = watched({ of: [1, 0] });
    ran({ gpu: 1, batchIndex: 0, beginNs: 0, endNs: 4 * S });
    autoscaler.decide(counts, 10 * S);
    expect(views[0].kinds.map(({ execUtilization }) => execUtilization)).toEqual([0.2, 0]);
    expect(views[0].kinds.map(({ speed }) => speed)).toEqual([0.5, 1]);
  });
});
