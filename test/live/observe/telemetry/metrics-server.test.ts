import { connect } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startMetricsServer } from '../../../../src/live/observe/telemetry/metrics-server.js';
import { json, type Route } from '../../../../src/live/observe/telemetry/route.js';
import { exchangeRaw } from '../../frontend/fixtures.js';

async function start(
  healthy = () => true,
  port = 0,
  routes: readonly Route[] = [],
  token: string | null = null,
): Promise<string> {
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'things', registers: [registry] }).inc(3);
  const server = await startMetricsServer({
    ...{ registry, host: '127.0.0.1', port, healthy, token },
    routes: () => routes,
  });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

describe('the metrics server', () => {
  it('says whether its process is well', async () => {
    let well = true;
    const base = await start(() => well);
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
    well = false;
    expect((await fetch(`${base}/healthz`)).status).toBe(503);
  });

  it('knows nothing else', async () => {
    const base = await start();
    const missing = await fetch(`${base}/status`);
    expect([missing.status, await missing.text()]).toEqual([
      404,
      'this port serves only /metrics, /healthz; for /status ask the controller\n',
    ]);
    expect((await fetch(`${base}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
  });

  it('never asks for a body, neither with nor without the token', async () => {
    const { port } = new URL(await start(() => true, 0, [], 's3cret'));
    const ask = (header: string) =>
      `POST /metrics HTTP/1.1\r\nhost: x\r\n${header}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`;
    expect(await exchangeRaw(Number(port), ask(''))).toMatch(/^HTTP\/1\.1 401 /);
    expect(await exchangeRaw(Number(port), ask('authorization: Bearer s3cret\r\n'))).toMatch(
      /^HTTP\/1\.1 405 /,
    );
  });

  it('cuts off who sends requests without waiting, and answers who waits', async () => {
    let asked = 0;
    const count: Route = {
      path: '/count',
      answer: async () => {
        asked++;
        return json(200, {});
      },
    };
    const port = Number(new URL(await start(() => true, 0, [count])).port);
    const get = 'GET /count HTTP/1.1\r\nhost: a\r\n\r\n';
    const greedy = connect(port, '127.0.0.1', () => greedy.write(get.repeat(5000)));
    greedy.on('error', () => {});
    await new Promise((resolve) => greedy.once('close', resolve));
    expect(asked).toBeLessThan(10);
    asked = 0;
    const patient = connect(port, '127.0.0.1');
    for (let i = 0; i < 3; i++) {
      patient.write(get);
      await new Promise((resolve) => patient.once('data', resolve));
    }
    expect(asked).toBe(3);
    patient.destroy();
  });

  it('outlives a metric that cannot be computed', async () => {
    const registry = new Registry();
    const broken = () => {
      throw new Error('no figure');
    };
    new Gauge({ name: 'broken', help: 'broken', registers: [registry], collect: broken });
    const server = await startMetricsServer({ registry, host: '127.0.0.1', port: 0, healthy: () => true });
    onTestFinished(() => server.close());
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([500, '{"error":"no figure"}\n']);
  });

  it('refuses a port that is taken', async () => {
    const base = await start();
    await expect(start(undefined, Number(new URL(base).port))).rejects.toMatchObject({
      code: 'E_LISTEN',
      message: expect.stringContaining('--metrics-port'),
    });
  });
});
