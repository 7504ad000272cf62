import { expect, it } from 'vitest';
import { conform } from '../../../src/tools/conform/conform.js';
import { echoModel, FakeService } from '../../live/frontend/fake-service.js';
import { openGrpc, openHttp } from '../../live/frontend/fixtures.js';
import { endpointAt, OPTIONS } from './endpoint.js';

it('finds that our frontends conform', async () => {
  const service = new FakeService([
    echoModel('pair', true, [
      ['x', 'FP32', [4]],
      ['y', 'INT64', [2]],
    ]),
  ]);
  const { port } = await openHttp(service);
  const grpc = await openGrpc(service);
  const report = await conform(endpointAt(port, grpc.port), OPTIONS);
  const failures = report.cases.filter(({ id }) => report.failed.includes(id));
  expect(failures.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
  expect(report.totals.pass).toBeGreaterThan(55);
});
