import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_NAMES, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import type { MeasuredStage, StageName } from '../../../src/tools/bench/result.js';
import { joinPasses, metricSum, noAnswers } from '../../../src/tools/bench/stages.js';
import { service } from './fixtures.js';

function pass(throughputRps: number[], deviceBusy: number): MeasuredStage[] {
  const all: StageName[] = ['io', 'synthetic', 'full'];
  return all.map((stage) => ({
    stage,
    throughputRps,
    p50Ms: throughputRps.map(() => 5),
    p99Ms: throughputRps.map(() => 9),
    service:
      stage === 'synthetic'
        ? null
        : service({ deviceBusy, server: { busy: deviceBusy, cores: 2 * deviceBusy } }),
    otherCores: deviceBusy,
  }));
}

it('takes all trials, and means by the number of them', () => {
  const stages = joinPasses([pass([1, 2, 3], 0.2), pass([4], 0.6)]);
  expect(stages.map(({ stage }) => stage)).toEqual(['io', 'synthetic', 'full']);
  for (const { throughputRps, otherCores, p50Ms } of stages) {
    expect(throughputRps).toEqual([1, 2, 3, 4]);
    expect(otherCores).toBeCloseTo(0.3, 12);
    expect(p50Ms).toEqual([5, 5, 5, 5]);
  }
  const [{ service: io }, synthetic] = stages;
  expect(io?.deviceBusy).toBeCloseTo(0.3, 12);
  expect(io?.server.busy).toBeCloseTo(0.3, 12);
  expect(io?.server.cores).toBeCloseTo(0.6, 12);
  expect(io?.generator).toEqual({ busy: 0.3, cores: 0.3 });
  expect(synthetic.service).toBeNull();
});

it('a stage without answers ends with what the server said most often', () => {
  const outcomes = OUTCOME_NAMES.map(() => 0);
  outcomes[OUTCOME_TIMEOUT] = 16;
  outcomes[OUTCOME_ERROR] = 178;
  const answers = [
    { status: 'HTTP 503', count: 178, message: 'no worker is up' },
    { status: 'HTTP 504', count: 16, message: 'the SLO of 1 s could not be met' },
  ];
  const ended = 'IO: a trial of 2 s had no answer (in all trials its requests ended 16 timeout, 178 error';
  const advice = '): increase --duration, or --set slo';
  expect(noAnswers('IO', outcomes, 2, answers).message).toBe(
    `${ended}; most often the server said HTTP 503, "no worker is up"${advice}`,
  );
  expect(noAnswers('IO', outcomes, 2, []).message).toBe(ended + advice);
});

it('adds up the samples that have the labels', async () => {
  const registry = new Registry();
  const labelNames = ['action', 'status'];
  const actions = new Counter({ name: 'actions_total', help: 'h', labelNames, registers: [registry] });
  const plain = new Counter({ name: 'actions_total_more', help: 'h', registers: [registry] });
  actions.inc({ action: 'INFER', status: 'ok' }, 5);
  actions.inc({ action: 'INFER', status: 'too_late' }, 2);
  actions.inc({ action: 'LOAD', status: 'ok' }, 1.5);
  plain.inc(100);
  const text = await registry.metrics();
  expect(metricSum(text, 'actions_total', 'action="INFER"')).toBe(7);
  expect(metricSum(text, 'actions_total', 'action="INFER"', 'status="ok"')).toBe(5);
  expect(metricSum(text, 'actions_total')).toBe(8.5);
  expect(metricSum(text, 'actions_total_more')).toBe(100);
  expect(metricSum(text, 'nothing')).toBe(0);
});
