import { describe, expect, it } from 'vitest';
import type { Action } from '../../../../src/core/action.js';
import { Controller } from '../../../../src/core/controller.js';
import type { RunObserver } from '../../../../src/core/observer.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../../../../src/core/request.js';
import type { ClusterStatus } from '../../../../src/live/observe/status/cluster-status.js';
import { describeCluster } from '../../../../src/live/observe/status/describe-cluster.js';
import { StatusCollector } from '../../../../src/live/observe/status/status-collector.js';
import { Simulator } from '../../../../src/sim/simulator.js';
import { type Arrival, createPolicy, ListSource, MS, poisson, resnets } from '../../../sim/fixtures.js';

const S = 1000 * MS;
const GPUS = 2;

/** A status at some instant, and what it must say. */
interface Look {
  readonly status: ClusterStatus;
  readonly nowNs: number;
  readonly answers: number;
}

/** A run under more load than can be served, looked at about every `everyNs`. */
async function watched(models: number, arrivals: readonly Arrival[], everyNs: number) {
  const specs = resnets(models);
  const collector = new StatusCollector({ models: specs, gpus: GPUS });
  const answers: { readonly model: number; readonly outcome: Outcome; readonly nowNs: number }[] = [];
  const looks: Look[] = [];
  let simulator: Simulator;
  const observer: RunObserver = {
    answered: (
      requests: RequestTable,
      slot: number,
      outcome: Outcome,
      nowNs: number,
      copies: number,
      action: Action | null,
    ) => {
      collector.answered(requests, slot, outcome, nowNs, copies, action);
      answers.push({ model: requests.model[slot], outcome, nowNs });
    },
    completed: (action: Action, nowNs: number) => {
      collector.completed(action);
      if (nowNs < (looks.length + 1) * everyNs) return;
      const status = describeCluster({
        collector,
        core: simulator.controller,
        policy: 'clockwork',
        host: 'here',
        ready: true,
        workerOf: (gpu) => `worker${gpu}`,
        kindOf: () => 'cpu',
        classes: [],
        tenants: [],
        scaling: null,
        nowNs,
      });
      looks.push({ status, nowNs, answers: answers.length });
    },
  };
  simulator = new Simulator({
    models: specs,
    gpus: GPUS,
    pages: 40,
    defaultSloNs: 25 * MS,
    createPolicy: createPolicy('clockwork'),
    source: new ListSource(arrivals),
    seed: 4,
    observer,
  });
  await simulator.run();
  return { looks, answers };
}

describe('the status of a cluster', () => {
  const models = 12;
  const load = { seed: 4, rateRps: 600, durationNs: 70 * S, models, slosNs: [15 * MS, 80 * MS] };

  it('tells what came and what was answered in the last seconds', async () => {
    const arrivals = poisson(load);
    const { looks, answers } = await watched(models, arrivals, 7.3 * S);
    expect(looks.length).toBeGreaterThan(8);
    for (const { status, nowNs, answers: answered } of looks) {
      const second = Math.floor(nowNs / S);
      const fromNs = (second - 5) * S;
      const windowS = (nowNs - fromNs) / S;
      // A request that arrives in this very instant may or may not have been seen.
      const came = arrivals.filter(({ timeNs }) => timeNs >= fromNs && timeNs < nowNs);
      const recent = answers.slice(0, answered).filter((answer) => answer.nowNs >= fromNs);
      const good = recent.filter(({ outcome }) => outcome === OUTCOME_OK);
      expect(status.windowSeconds).toBeCloseTo(windowS, 3);
      expect(status.requests.offeredRps * windowS).toBeCloseTo(came.length, 1);
      expect(status.requests.goodputRps * windowS).toBeCloseTo(good.length, 1);
      expect(status.requests.failedRps * windowS).toBeCloseTo(recent.length - good.length, 1);
      const totals = Object.values(status.requests.totals);
      expect(totals.reduce((sum, count) => sum + count, 0)).toBe(answered);
      const { lastMinute } = status.requests;
      const first = Math.max(0, second - 60);
      expect(lastMinute.offeredRps).toEqual(
        Array.from({ length: second - first }, (_, i) => {
          const inSecond = ({ timeNs }: Arrival) => Math.floor(timeNs / S) === first + i;
          return arrivals.filter(inSecond).length;
        }),
      );
      expect(lastMinute.goodputRps).toHaveLength(lastMinute.offeredRps.length);
      for (const { name, goodputRps } of status.models) {
        const ofModel = good.filter(({ model }) => resnets(models)[model].name === name);
        expect(goodputRps * windowS).toBeCloseTo(ofModel.length, 1);
      }
    }
  });

  it('tells of GPUs and models what the controller knows', async () => {
    const { looks } = await watched(models, poisson({ ...load, durationNs: 8 * S }), 6.5 * S);
    const [{ status }] = looks;
    expect(status.gpus).toHaveLength(GPUS);
    for (const [gpu, { worker, lanes, pages, freePages, warmModels }] of status.gpus.entries()) {
      expect([worker, lanes.map(({ lane }) => lane), pages]).toEqual([
        `worker${gpu}`,
        ['EXEC', 'WEIGHTS'],
        40,
      ]);
      expect(freePages).toBeLessThan(pages);
      expect(warmModels).toBeGreaterThan(0);
      expect(lanes[0].busy).toBeGreaterThan(0.3);
      for (const { busy } of lanes) expect(busy).toBeLessThanOrEqual(1);
    }
    const copies = status.models.reduce((sum, model) => sum + model.copies, 0);
    expect(copies).toBe(status.gpus.reduce((sum, gpu) => sum + gpu.warmModels, 0));
    const rates = status.models.map(({ offeredRps }) => offeredRps);
    expect(rates.reduce((sum, rate) => sum + rate, 0)).toBeCloseTo(status.requests.offeredRps, 1);
    expect(status.models[0].queueMs).toBeGreaterThan(0);
    expect(JSON.parse(JSON.stringify(status))).toEqual(status);
  });

  it('shows GPUs that are gone, and those with one lane', () => {
    const specs = resnets(2);
    const controller = new Controller({
      cluster: { models: specs, gpus: 2, pages: 40, oneLane: true },
      defaultSloNs: 25 * MS,
      createPolicy: createPolicy('clockwork'),
      port: { send: () => {}, answer: () => {} },
    });
    controller.gpuDown(1);
    controller.step(3 * MS);
    const { gpus, windowSeconds, requests, scaling } = describeCluster({
      collector: new StatusCollector({ models: specs, gpus: 2, oneLane: true }),
      classes: [],
      tenants: [],
      core: controller,
      policy: 'clockwork',
      host: 'here',
      ready: false,
      workerOf: () => 'local',
      kindOf: () => 'cpu',
      scaling: { gpus: [{ kind: 'cpu', up: 2, needed: 3 }], reason: 'because' },
      nowNs: 3 * MS,
    });
    expect(scaling).toEqual({ gpus: [{ kind: 'cpu', up: 2, needed: 3 }], reason: 'because' });
    expect(gpus.map(({ up }) => up)).toEqual([true, false]);
    const lane = { lane: 'EXEC+WEIGHTS', busy: 0, bookedMs: 0, running: '' };
    expect(gpus.map(({ lanes }) => lanes)).toEqual([[lane], [lane]]);
    expect([windowSeconds, requests.lastMinute.goodputRps]).toEqual([0.003, []]);
  });

  it('names the most active of many models and counts the others', async () => {
    const many = 300;
    const { looks } = await watched(many, poisson({ ...load, models: many, durationNs: 3 * S }), 2.5 * S);
    const [{ status }] = looks;
    expect([status.models.length, status.otherModels]).toEqual([200, 100]);
    const activity = status.models.map(
      ({ offeredRps, queued }) => offeredRps * status.windowSeconds + queued,
    );
    for (let i = 1; i < activity.length; i++)
      expect(activity[i]).toBeLessThanOrEqual((activity[i - 1] as number) + 0.01);
  });
});
