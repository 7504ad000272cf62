import { expect, it, onTestFinished, vi } from 'vitest';
import { OUTCOME_REJECTED, type RequestTable } from '../../src/core/request.js';
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE } from '../../src/core/tenants.js';
import { EventLog } from '../../src/live/observe/event-log.js';
import { loggedCluster, loggedLimits, logReadiness, logTurnedAway } from '../../src/serve/server-log.js';
import { FakeService } from '../live/frontend/fake-service.js';
import { keptLog } from './fixtures.js';

it('says once a minute that a worker comes and goes, and with it the server', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { log, messages } = keptLog();
  const eventLog = new EventLog(log);
  const { events } = loggedCluster(eventLog);
  const service = new FakeService([]);
  logReadiness(eventLog, service);
  for (let i = 0; i < 300; i++) {
    events?.worker?.('w', true, 'is up');
    service.notReady = null;
    vi.advanceTimersByTime(100);
    events?.worker?.('w', false, 'is down: the link broke');
    service.notReady = 'no worker is up';
    vi.advanceTimersByTime(100);
  }
  vi.advanceTimersByTime(1000);
  // Each of four lines at once, and at the end of the minute with its count.
  expect(messages()).toHaveLength(4 * 2);
  expect(messages().at(-1)).toBe('the server is not ready: no worker is up (299 times in the last minute)');
});

it('warns of what is out of order, and only says what was asked for', () => {
  const { log, lines } = keptLog();
  const { events } = loggedCluster(new EventLog(log));
  events?.worker?.('w', false, 'is down: the worker shuts down', true);
  events?.worker?.('w', false, 'is down: the link broke', false);
  events?.standsBy?.(true);
  events?.standsBy?.(false);
  expect(lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
    '30 worker w is down: the worker shuts down',
    '40 worker w is down: the link broke',
    '40 stands by: another controller drives the workers',
    '40 drives the workers: no other controller does any more',
  ]);
});

it('names clients that are turned away and tenants beyond their limits, with what to do', () => {
  const { log, messages } = keptLog();
  const events = new EventLog(log);
  logTurnedAway(events, 'requests', '2001:db8:0:1');
  logTurnedAway(events, 'metrics', '10.0.0.5');
  const limits = loggedLimits(events, [
    { name: 'others', rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 1 },
    { name: 'acme', rateRps: 500, burst: 20, share: 3 },
  ]);
  const table = {
    tenant: [0, 1, 1],
    limit: [LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE],
  } as unknown as RequestTable;
  for (const slot of [0, 1, 2]) limits.answered(table, slot, OUTCOME_REJECTED, 0, 0, null);
  expect(messages()).toEqual([
    expect.stringMatching(/^connections of 2001:db8:0:1::\/64 are turned away .* raise --max-connections$/),
    expect.stringMatching(/^connections of 10\.0\.0\.5 to the metrics port are closed .* block it/),
    expect.stringMatching(/^requests of tenant acme beyond its rate .*\(rate 500\/s, burst 20\); /),
    expect.stringMatching(/^GPUs are overloaded, so .*tenant acme .*\(share 75 %\); .*add GPUs/),
  ]);
});
