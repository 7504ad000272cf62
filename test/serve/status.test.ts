import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { profileFileName } from '../../src/config/onnx-model.js';
import { makeModel } from '../../src/live/models/make/make-model.js';
import { readModelFile } from '../../src/live/models/repository.js';
import type { ClusterStatus } from '../../src/live/observe/status/cluster-status.js';
import { measureProfile } from '../../src/serve/measure-profile.js';
import { repositoryModels } from '../../src/serve/repository-models.js';
import { fetchStatus } from '../../src/tools/top/fetch-status.js';
import { CPU, tempDir, writeIn } from '../live/models/fixtures.js';
import { body, PAGE_BYTES, serve, simulated, smallModels, until } from './fixtures.js';

const url = (port: number | undefined) => `http://127.0.0.1:${port}`;

it('the status of a server with a real model tells the truth', async () => {
  const repository = tempDir();
  const { onnx } = makeModel('mlp', { input: 32, seed: 5, classes: 10 });
  for (const name of ['asked', 'idle']) {
    const path = writeIn(repository, `${name}/1/model.onnx`, onnx);
    writeIn(repository, `${name}/config.yaml`, 'batchSizes: [1, 2, 4]\n');
    const { profile } = await measureProfile(await readModelFile(path), CPU, { runs: 3 });
    writeFileSync(join(repository, name, '1', profileFileName(CPU)), JSON.stringify(profile));
  }
  const models = await repositoryModels(repository, CPU, PAGE_BYTES, () => {});
  const running = await serve({ devices: [CPU], models, pages: 20 }, ['slo=10s']);
  const { server, http } = running;
  const before = await fetchStatus(url(server.metrics?.port));
  expect(before).toMatchObject({ policy: 'escapement', ready: true });
  expect(before.by.model.map(({ key, copies, execMs }) => [key, copies, execMs])).toEqual([
    ['asked', 0, null],
    ['idle', 0, null],
  ]);
  const random = stream(1, 'inputs');
  const input = {
    name: server.controller?.modelAt(0)?.signature.inputs[0].name,
    datatype: 'FP32',
    shape: [1, 32],
    data: Array.from({ length: 32 }, () => random()),
  };
  for (let i = 0; i < 20; i++) {
    expect((await http.post('/v2/models/asked/infer', { inputs: [input] })).status).toBe(200);
  }
  const status = await fetchStatus(url(server.metrics?.port));
  const { gpus, by } = status;
  expect(status).toMatchObject({
    ...{ unanswered: 0, requests: { offered: 20, ok: 20 }, attainment: 1, windowSeconds: expect.any(Number) },
    totals: { ok: 20, late: 0, timeout: 0, rejected: 0, error: 0, cancelled: 0 },
  });
  expect(gpus).toHaveLength(1);
  expect(gpus[0]).toMatchObject({ up: true, worker: 'local', warmModels: 1, pages: 20 });
  expect(gpus[0].freePages).toBeLessThan(20);
  const [asked, idle] = by.model;
  expect([asked.key, asked.copies, asked.queued]).toEqual(['asked', 1, 0]);
  expect([asked.queueMs, asked.execMs].every((ms) => ms !== null && ms > 0)).toBe(true);
  expect(idle).toMatchObject({ key: 'idle', copies: 0, offeredRps: 0, queueMs: null, execMs: null });
  expect([asked.copyInMs, asked.copyOutMs].every((ms) => ms !== null && ms >= 0)).toBe(true);
});

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
