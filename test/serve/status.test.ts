import { expect, it } from 'vitest';
import type { ClusterStatus } from '../../src/live/observe/status/cluster-status.js';
import { fetchStatus } from '../../src/tools/top/fetch-status.js';
import { body, serve, simulated, smallModels, until } from './fixtures.js';

const url = (port: number | undefined) => `http://127.0.0.1:${port}`;

it('the status shows what runs, what waits and how far lanes are booked', async () => {
  const models = smallModels(1, 1, [60_000, 60_000, 60_000]);
  const { server, http } = await serve({ devices: simulated(1, 1), models }, [
    'slo=1h',
    'policy={kind: fifo}',
  ]);
  const answers = Array.from({ length: 12 }, () => http.post('/v2/models/model0/infer', body()));
  await until(() => server.controller?.core.requests.size === 12);
  let status: ClusterStatus | null = null;
  await until(async () => {
    status = await fetchStatus(url(server.metrics?.port));
    return status.gpus[0].lanes[0].running !== '';
  });
  const { gpus, by, unanswered, offeredRps } = status as unknown as ClusterStatus;
  const [model0] = by.model;
  expect(gpus[0].lanes[0].running).toMatch(/^model0 ×[124]$/);
  expect(gpus[0].lanes[0].bookedMs).toBeGreaterThan(0);
  expect(gpus[0].lanes[0].busy).toBeGreaterThan(0);
  expect(model0.queued).toBeGreaterThan(0);
  expect(model0.queued).toBeLessThan(12);
  expect(unanswered).toBe(12);
  expect(offeredRps).toBeGreaterThan(0);
  await server.close(20_000_000);
  for (const { status: code } of await Promise.all(answers)) expect(code).toBe(503);
});
