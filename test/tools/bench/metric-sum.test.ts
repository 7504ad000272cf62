import { Counter, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { metricSum } from '../../../src/tools/bench/metric-sum.js';

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
  expect(metricSum(text, 'actions_total', { action: 'INFER' })).toBe(7);
  expect(metricSum(text, 'actions_total', { action: 'INFER', status: 'ok' })).toBe(5);
  expect(metricSum(text, 'actions_total')).toBe(8.5);
  expect(metricSum(text, 'actions_total_more')).toBe(100);
  expect(metricSum(text, 'nothing')).toBe(0);
});
