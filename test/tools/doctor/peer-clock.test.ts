import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { NS_PER_MS } from '../../../src/base/units.js';
import { startMetricsServer } from '../../../src/live/observe/telemetry/metrics-server.js';
import type { Access } from '../../../src/tools/ask.js';
import { judge } from '../../../src/tools/doctor/check.js';
import { measurePeerClock, type PeerClock, peerRows } from '../../../src/tools/doctor/peer-clock.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { find, statuses } from './hosts.js';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function unixUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

describe('measurePeerClock', () => {
  it.each([0, 250_000, -3_600_000_000])('finds a clock that is %d µs ahead', async (aheadUs) => {
    const url = await serve((_, response) => response.end(JSON.stringify({ unixUs: unixUs() + aheadUs })));
    const { offsetNs, errorNs, roundTrips } = await measurePeerClock(url);
    // Doubles of today's µs are exact to a quarter of one.
    expect(Math.abs(offsetNs - aheadUs * 1000)).toBeLessThanOrEqual(errorNs + 1_000);
    expect(errorNs).toBeLessThan(NS_PER_MS * 1_000);
    expect(roundTrips.runs).toBeGreaterThanOrEqual(16);
  });

  it('asks the metrics port of escapement', async () => {
    const { port, close } = await startMetricsServer({
      registry: new Registry(),
      host: '127.0.0.1',
      port: 0,
      healthy: () => true,
    });
    const { offsetNs, errorNs } = await measurePeerClock(`http://127.0.0.1:${port}`).finally(close);
    expect(Math.abs(offsetNs)).toBeLessThanOrEqual(errorNs + 1_000);
  });

  it('checks the certificate against the authority that it is given', async ({ skip }) => {
    skip(noOpenssl, 'openssl, which makes the certificate, is not installed');
    const tls = selfSigned();
    const options = { registry: new Registry(), host: '127.0.0.1', port: 0, healthy: () => true, tls };
    const { port, close } = await startMetricsServer(options);
    onTestFinished(close);
    const url = `https://127.0.0.1:${port}`;
    const trusting = (trust: Access['trust']): Access => ({ token: null, trust });
    await expect(measurePeerClock(url)).rejects.toThrow('self-signed certificate');
    expect((await measurePeerClock(url, trusting({ ca: tls.cert }))).roundTrips.runs).toBeGreaterThan(0);
    expect(
      (await measurePeerClock(url, trusting({ rejectUnauthorized: false }))).roundTrips.runs,
    ).toBeGreaterThan(0);
  });

  it.each<[string, RequestListener]>([
    ['has no such page', (_, response) => response.writeHead(404).end('nothing')],
    ['is no JSON', (_, response) => response.end('<html>')],
    ['has no number', (_, response) => response.end('{"unixUs":"now"}')],
    ['is null', (_, response) => response.end('null')],
  ])('says what to name when the answer %s', async (_, listener) => {
    await expect(measurePeerClock(await serve(listener))).rejects.toThrow('pass the metrics port');
  });

  it('does not wait for ever', async () => {
    const url = await serve(() => {});
    await expect(measurePeerClock(url)).rejects.toThrow('no answer in 3 s');
  });

  it('fails where no server listens', async () => {
    await expect(measurePeerClock('http://127.0.0.1:1')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('the checks of a peer', () => {
  const URL = 'http://10.0.0.2:8002';
  const ROUND_TRIPS = { runs: 100, minMs: 0.2, medianMs: 0.25, p90Ms: 0.4, p99Ms: 0.9, maxMs: 1 };
  const peer = (offsetNs: number): PeerClock => ({ offsetNs, errorNs: 100_000, roundTrips: ROUND_TRIPS });

  it.each([
    [0, 'ok', '+0.000 ± 0.100 ms'],
    [1_100_000, 'ok', '+1.100 ± 0.100 ms'],
    [-1_100_001, 'failed', '−1.100 ± 0.100 ms'],
    [5_000_000_000, 'failed', '+5000.000 ± 0.100 ms'],
  ])('takes an offset of %d ns as %s, which is advice', (offsetNs, status, found) => {
    const checks = judge(peerRows(URL), peer(offsetNs));
    expect(find(checks, 'clock.10.0.0.2:8002.reached')).toMatchObject({
      status: 'ok',
      found: 'round trip 0.25 ms (p50), 0.90 ms (p99) of 100',
    });
    expect(find(checks, 'clock.10.0.0.2:8002.offset')).toMatchObject({ status, found, requiredFor: [] });
  });

  it('requires a peer to answer', () => {
    const checks = judge(peerRows(URL), { reason: 'connect ECONNREFUSED' });
    expect(statuses(checks)).toEqual({
      'clock.10.0.0.2:8002.reached': 'failed',
      'clock.10.0.0.2:8002.offset': 'skipped',
    });
    expect(checks[0]?.requiredFor).toContain('worker');
  });
});
