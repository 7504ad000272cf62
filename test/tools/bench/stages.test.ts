import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_NAMES, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { metricSum, noAnswers } from '../../../src/tools/bench/stages.js';

it('a stage without answers ends with what the server said most often', () => {
  const outcomes = OUTCOME_NAMES.map(() => 0);
  outcomes[OUTCOME_TIMEOUT] = 16;
  outcomes[OUTCOME_ERROR] = 178;
  const answers = [
    { status: 'HTTP 503', count: 178, message: 'no worker is up' },
    { status: 'HTTP 504', count: 16, message: 'the SLO of 1 s could not be met' },
  ];
  const ended = 'IO: too few answers for the trials in 15 s (requests ended 16 timeout, 178 error';
  const advice = '): increase --duration, or --set slo';
  expect(noAnswers('IO', outcomes, 15_000, answers).message).toBe(
    `${ended}; most often the server said HTTP 503, "no worker is up"${advice}`,
  );
  expect(noAnswers('IO', outcomes, 15_000, []).message).toBe(ended + advice);
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
