import { describe, expect, it } from 'vitest';
import { Action } from '../../../../src/core/action.js';
import { Controller } from '../../../../src/core/controller.js';
import type { RunObserver } from '../../../../src/core/observer.js';
import {
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  type Outcome,
  RequestTable,
} from '../../../../src/core/request.js';
import { LIMIT_RATE } from '../../../../src/core/tenants.js';
import type { ClusterStatus } from '../../../../src/live/observe/status/cluster-status.js';
import { describeCluster, statusRoute } from '../../../../src/live/observe/status/describe-cluster.js';
import { StatusCollector } from '../../../../src/live/observe/status/status-collector.js';
import type { DrawnPipeline } from '../../../../src/sim/fan-out.js';
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

interface Answer {
  readonly model: number;
  readonly step: number;
  readonly outcome: Outcome;
  readonly nowNs: number;
  readonly latencyMs: number;
}

/** A run under more load than can be served, looked at about every `everyNs`. */
async function watched(
  models: number,
  arrivals: readonly Arrival[],
  everyNs: number,
  pipelines: readonly DrawnPipeline[] = [],
) {
  const specs = resnets(models);
  const collector = new StatusCollector({ models: specs, gpus: GPUS });
  for (const { name, steps } of pipelines)
    for (const [s, { id }] of steps.entries()) collector.stepCame(s + 1, `${name}.${id}`, models);
  const answers: Answer[] = [];
  const looks: Look[] = [];
  let simulator: Simulator;
  const observer: RunObserver = {
    decided: (action) => collector.decided(action),
    answered: (
      requests: RequestTable,
      slot: number,
      outcome: Outcome,
      nowNs: number,
      copies: number,
      action: Action | null,
    ) => {
      collector.answered(requests, slot, outcome, nowNs, copies, action);
      const latencyMs = (nowNs - requests.arrivalNs[slot]) / MS;
      answers.push({ model: requests.model[slot], step: requests.step[slot], outcome, nowNs, latencyMs });
    },
    completed: (action: Action, nowNs: number, queued: number, copies: number) => {
      collector.completed(action, nowNs, queued, copies);
      if (nowNs < (looks.length + 1) * everyNs) return;
      const status = describeCluster({
        collector,
        core: simulator.controller,
        policy: 'clockwork',
        host: 'here',
        ready: true,
        serves: () => true,
        versionOf: (model) => String(model),
        workerOf: (gpu) => `worker${gpu}`,
        kindOf: () => 'cpu',
        classes: [],
        tenants: [],
        lengthsOf: () => null,
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
    pipelines,
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
      const fromNs = nowNs - 5 * S;
      // A request that arrives in this very instant may or may not have been seen.
      const came = arrivals.filter(({ timeNs }) => timeNs >= fromNs && timeNs < nowNs);
      const recent = answers.slice(0, answered).filter((answer) => answer.nowNs >= fromNs);
      const good = recent.filter(({ outcome }) => outcome === OUTCOME_OK);
      expect(status.windowSeconds).toBe(5);
      const { ok, late, timeout, rejected, error, offered } = status.requests;
      expect([offered, ok]).toEqual([came.length, good.length]);
      expect([status.offeredRps, status.goodputRps]).toEqual([came.length / 5, good.length / 5]);
      expect(ok + late + timeout + rejected + error).toBe(recent.length);
      const totals = Object.values(status.totals);
      expect(totals.reduce((sum, count) => sum + count, 0)).toBe(answered);
      const names = resnets(models).map(({ name }) => name);
      for (const { key, requests, attainment, offeredLatencyMs, executedLatencyMs } of status.by.model) {
        const ofModel = recent.filter(({ model }) => names[model] === key);
        const inTime = ofModel.filter(({ outcome }) => outcome === OUTCOME_OK);
        expect(requests.ok).toBe(inTime.length);
        expect(attainment).toBe(ofModel.length === 0 ? null : inTime.length / ofModel.length);
        const executed = ofModel.filter(({ outcome }) => outcome === OUTCOME_OK || outcome === OUTCOME_LATE);
        for (const [name, percent] of [
          ['p50', 50],
          ['p95', 95],
          ['p99', 99],
        ] as const) {
          expectNear(offeredLatencyMs[name], percentile(inTime, percent, ofModel.length));
          expectNear(executedLatencyMs[name], percentile(executed, percent, executed.length));
        }
      }
    }
  });

  it('counts a request of a pipeline once, and its steps apart', async () => {
    const step = (id: string, model: number, after: number[]) => ({
      ...{ id, model, after, least: 2, mean: 2, budget: 1, probability: 1 },
      fanOut: { kind: 'constant', value: 2 } as const,
    });
    const chain = { name: 'chain', split: 'slack', steps: [step('a', 0, []), step('b', 1, [0])] } as const;
    const few = 3;
    const arrivals = poisson({ ...load, rateRps: 200, durationNs: 20 * S, models: few + 1 });
    const { looks, answers } = await watched(few, arrivals, 3 * S, [chain]);
    expect(looks.length).toBeGreaterThan(3);
    for (const { status, nowNs, answers: answered } of looks) {
      const came = arrivals.filter(
        ({ timeNs }) => timeNs >= nowNs - status.windowSeconds * S && timeNs < nowNs,
      );
      const recent = answers.slice(0, answered).filter((answer) => answer.nowNs >= nowNs - 5 * S);
      const ok = (of: (answer: Answer) => boolean) =>
        recent.filter((answer) => answer.outcome === OUTCOME_OK && of(answer)).length;
      const { requests, by, totals } = status;
      expect([requests.offered, requests.ok]).toEqual([came.length, ok(({ step }) => step <= 0)]);
      expect(by.pipeline).toMatchObject([
        { key: 'chain', requests: { offered: came.filter(({ model }) => model === few).length } },
      ]);
      expect(by.pipeline?.[0].requests.ok).toBe(ok(({ model }) => model === few));
      expect(by.step?.map(({ key, requests: { ok } }) => [key, ok])).toEqual([
        ['chain.a', ok(({ step }) => step === 1)],
        ['chain.b', ok(({ step }) => step === 2)],
      ]);
      const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
      const known = arrivals.filter(({ timeNs }) => timeNs < nowNs).length;
      expect(sum(Object.values(totals)) + status.unanswered).toBe(known);
    }
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
    const { gpus, windowSeconds, scaling } = describeCluster({
      collector: new StatusCollector({ models: specs, gpus: 2, oneLane: true }),
      classes: [],
      tenants: [],
      core: controller,
      policy: 'clockwork',
      host: 'here',
      ready: false,
      serves: () => true,
      versionOf: () => '1',
      workerOf: () => 'local',
      kindOf: () => 'cpu',
      lengthsOf: () => null,
      scaling: { gpus: [{ kind: 'cpu', up: 2, needed: 3 }], reason: 'because' },
      nowNs: 3 * MS,
    });
    expect(scaling).toEqual({ gpus: [{ kind: 'cpu', up: 2, needed: 3 }], reason: 'because' });
    expect(gpus.map(({ up }) => up)).toEqual([true, false]);
    const lane = { lane: 'EXEC+WEIGHTS', busy: 0, bookedMs: 0, running: '' };
    expect(gpus.map(({ lanes }) => lanes)).toEqual([[lane], [lane]]);
    expect(windowSeconds).toBe(0.003);
  });

  it('has a row for each of the most active of many models, and one for the others', async () => {
    const many = 300;
    const { looks } = await watched(many, poisson({ ...load, models: many, durationNs: 3 * S }), 2.5 * S);
    const [{ status }] = looks;
    const { model } = status.by;
    expect([model.length, model.at(-1)?.key, model.at(-1)?.others]).toEqual([201, 'others', 100]);
    const activity = model.slice(0, -1).map(({ requests, queued }) => requests.offered + queued);
    expect(activity).toEqual(activity.toSorted((a, b) => b - a));
    for (const name of ['offered', 'ok', 'late', 'timeout', 'rejected'] as const)
      expect(model.reduce((sum, { requests }) => sum + requests[name], 0)).toBe(status.requests[name]);
  });

  it('breaks requests down by class, tenant, length and kind of GPU', () => {
    const { answer, statusOf } = withSenders();
    answer({ requestClass: 1, tenant: 1, length: 100 }, OUTCOME_OK, 10, 0);
    answer({ requestClass: 1, tenant: 1, length: 100 }, OUTCOME_OK, 20, 0);
    answer({ requestClass: 0, tenant: 1, length: 300 }, OUTCOME_LATE, 200, 1);
    answer({ requestClass: 0, tenant: 0, length: 300, limit: LIMIT_RATE }, OUTCOME_REJECTED, 0, null);
    const { by, attainment, windowSeconds } = statusOf();
    expect([attainment, windowSeconds]).toEqual([0.5, 1]);
    expect(by.class).toMatchObject([
      { key: 'standard', weight: 1, share: 0, requests: { offered: 2, ok: 0, late: 1, rejected: 1 } },
      { key: 'gold', weight: 10, share: 0.1, attainment: 1, goodputRps: 2 },
    ]);
    expect(by.tenant).toMatchObject([
      { key: 'others', share: 0.25, attainment: 0, failures: { overRate: 1 }, gpuShare: 0 },
      { key: 'acme', share: 0.75, attainment: 2 / 3, coldStarts: 3, gpuShare: 1 },
    ]);
    const [, acme] = by.tenant ?? [];
    expect(acme.offeredLatencyMs).toMatchObject({ p50: expect.closeTo(20, 0), p95: null, p99: null });
    expect(acme.executedLatencyMs).toMatchObject({ p99: expect.closeTo(200, -1) });
    expect(by.length).toMatchObject([
      { key: '128', requests: { offered: 2, ok: 2 } },
      { key: '512', requests: { offered: 2, ok: 0 } },
    ]);
    expect(by.kind).toMatchObject([
      { key: 'fast', gpus: 1, requests: { offered: 2, ok: 2 }, gpuShare: expect.closeTo(2 / 3) },
      { key: 'slow', gpus: 1, requests: { offered: 1, ok: 0 }, execUtilization: 0 },
    ]);
  });

  it('is described once a second, for all who ask', async () => {
    const { answer, sourcesAt } = withSenders();
    let nowNs = S;
    const route = statusRoute(() => sourcesAt(nowNs));
    const okAt = async (askedNs: number) => {
      nowNs = askedNs;
      const { body } = await route.answer({ query: new URLSearchParams() });
      return (JSON.parse(String(body)) as ClusterStatus).requests.ok;
    };
    answer({}, OUTCOME_OK, 10, 0);
    expect(await okAt(S)).toBe(1);
    answer({}, OUTCOME_OK, 10, 0);
    expect([await okAt(2 * S - MS), await okAt(2 * S)]).toEqual([1, 2]);
  });
});

/** Nearest rank of `count` latencies, of which the others never end; null: none of these. */
function percentile(latencies: readonly Answer[], percent: number, count: number): number | null {
  const sorted = latencies.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil((percent / 100) * count - 1e-9)) - 1] ?? null;
}

function expectNear(shown: number | null, exact: number | null): void {
  if (shown === null || exact === null) expect(shown).toBe(exact);
  else expect(Math.abs(shown - exact)).toBeLessThanOrEqual(0.016 * exact);
}

/** A collector of a cluster with classes, tenants, lengths and two kinds of GPUs, and answers to feed it with. */
function withSenders() {
  const [{ execNs, ...resnet }] = resnets(1);
  const models = [{ ...resnet, execNs, lengths: [128, 512], execNsByLength: [execNs, execNs] }];
  const collector = new StatusCollector({ models, gpus: 2 });
  const core = new Controller({
    cluster: { models, gpus: 2, pages: 40 },
    defaultSloNs: 25 * MS,
    createPolicy: createPolicy('clockwork'),
    port: { send: () => {}, answer: () => {} },
  });
  const table = new RequestTable();
  interface Fields {
    readonly requestClass?: number;
    readonly tenant?: number;
    readonly length?: number;
    readonly limit?: number;
    readonly arrivalNs?: number;
  }
  const answer = (of: Fields, outcome: Outcome, latencyMs: number, gpu: number | null) => {
    const { requestClass = 0, tenant = 0, length = 0, limit = 0, arrivalNs = 100 * MS } = of;
    const slot = table.allocate(0, arrivalNs, 50 * MS, 0, requestClass, tenant, length);
    table.limit[slot] = limit;
    table.arrivalCopies[slot] = 0;
    const nowNs = arrivalNs + latencyMs * MS;
    const infer = Object.assign(new Action(1), { gpu, count: 1, beginNs: arrivalNs, endNs: arrivalNs + MS });
    collector.answered(table, slot, outcome, nowNs, 1, gpu === null ? null : infer);
    table.release(slot);
  };
  const sourcesAt = (nowNs: number) => ({
    ...{ collector, core, policy: 'clockwork', host: 'here', ready: true, scaling: null, nowNs },
    serves: () => true,
    versionOf: (model: number) => String(model),
    lengthsOf: () => null,
    workerOf: (gpu: number) => `worker${gpu}`,
    kindOf: (gpu: number) => ['fast', 'slow'][gpu],
    classes: [
      { name: 'standard', weight: 1, share: 0 },
      { name: 'gold', weight: 10, share: 0.1 },
    ],
    tenants: [
      { name: 'others', rateRps: 1, burst: 1, share: 1 },
      { name: 'acme', rateRps: 1, burst: 1, share: 3 },
    ],
  });
  return { answer, sourcesAt, statusOf: (nowNs = S) => describeCluster(sourcesAt(nowNs)) };
}
