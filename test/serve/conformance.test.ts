import { expect, it } from 'vitest';
import { conform } from '../../src/tools/conform/conform.js';
import { endpointAt, OPTIONS } from '../tools/conform/endpoint.js';
import { serve, simulated, smallModels } from './fixtures.js';

it('a server of ours conforms, and takes all advice', async () => {
  const { server, http } = await serve({ devices: simulated(1, 0), models: smallModels(2, 0) }, ['slo=10s']);
  const report = await conform(endpointAt(http.port, server.grpc?.port ?? 0), OPTIONS);
  const failures = report.cases.filter(({ result }) => result === 'fail');
  expect(failures.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
  expect(report.totals.pass).toBeGreaterThan(140);
});

it('the same with classes and tenants, each of which is asked for', async () => {
  const { server, http } = await serve({ devices: simulated(1, 0), models: smallModels(2, 0) }, [
    'slo=10s',
    'classes=[{ name: standard }, { name: gold, weight: 10, priority: [1, 2] }]',
    'tenants.list=[{ name: others }, { name: small, rate: 5/s, burst: 3 }]',
  ]);
  const report = await conform(endpointAt(http.port, server.grpc?.port ?? 0), {
    ...OPTIONS,
    only: ['senders'],
    senders: { priorities: [1, 2], tenantHeader: 'x-tenant', limitedTenant: 'small' },
  });
  const others = report.cases.filter(({ result }) => result !== 'pass');
  expect(others.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
});
