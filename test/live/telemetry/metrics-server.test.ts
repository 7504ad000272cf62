import { connect } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { type MetricsServer, startMetricsServer } from '../../../src/live/telemetry/metrics-server.js';
import { parseExposition } from './exposition.js';

const servers: MetricsServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(healthy = () => true, port = 0): Promise<string> {
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'things', registers: [registry] }).inc(3);
  const server = await startMetricsServer({ registry, host: '127.0.0.1', port, healthy });
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
}

describe('the metrics server', () => {
  it('serves the metrics as text', async () => {
    const answer = await fetch(`${await start()}/metrics`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(Object.fromEntries(parseExposition(await answer.text()))).toEqual({ things_total: 3 });
  });

  it('says whether its process is well', async () => {
    let well = true;
    const base = await start(() => well);
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
    well = false;
    expect((await fetch(`${base}/healthz`)).status).toBe(503);
  });

  it('knows nothing else', async () => {
    const base = await start();
    expect((await fetch(`${base}/`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
  });

  it('survives garbage', async () => {
    const base = await start();
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(base).port), '127.0.0.1', () =>
        socket.end('\u0000garbage\r\n\r\n'),
      );
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.resume();
    });
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
  });

  it('outlives a metric that cannot be computed', async () => {
    const registry = new Registry();
    const broken = () => {
      throw new Error('no figure');
    };
    new Gauge({ name: 'broken', help: 'broken', registers: [registry], collect: broken });
    const server = await startMetricsServer({ registry, host: '127.0.0.1', port: 0, healthy: () => true });
    servers.push(server);
    const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([500, 'Error: no figure\n']);
  });

  it('refuses a port that is taken', async () => {
    const base = await start();
    await expect(start(undefined, Number(new URL(base).port))).rejects.toMatchObject({
      code: 'E_LISTEN',
      message: expect.stringContaining('--metrics-port'),
    });
  });
});
