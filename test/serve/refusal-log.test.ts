import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../src/base/world/real-time.js';
import { OUTCOME_OK, OUTCOME_REJECTED, type RequestTable } from '../../src/core/request.js';
import { LIMIT_NONE, LIMIT_RATE, LIMIT_SHARE } from '../../src/core/tenants.js';
import { RefusalLog } from '../../src/serve/refusal-log.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TENANTS = [
  { name: 'others', rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 1 },
  { name: 'acme', rateRps: 500, burst: 20, share: 3 },
];

function start() {
  const lines: string[] = [];
  const log = new RefusalLog({ warn: (line: string) => lines.push(line) } as never, REAL_TIME, TENANTS);
  return {
    lines,
    log,
    answer: (tenant: number, limit: number, times: number) => {
      const requests = { tenant: [tenant], limit: [limit] } as unknown as RequestTable;
      const outcome = limit === LIMIT_NONE ? OUTCOME_OK : OUTCOME_REJECTED;
      for (let i = 0; i < times; i++) log.answered(requests, 0, outcome);
    },
    pass: (seconds: number) => void vi.advanceTimersByTime(seconds * 1000),
  };
}

it('names clients that are turned away within seconds, then once a minute, and is silent when it is over', () => {
  const { lines, log, pass } = start();
  log.add([
    { why: 'tooManyConnections', who: '10.0.0.5', count: 2 },
    { why: 'tooManyConnections', who: '2001:db8:0:1', count: 3 },
  ]);
  pass(1);
  expect(lines).toEqual([
    expect.stringMatching(
      /^connections turned away because there are too many in the last second: 2001:db8:0:1::\/64 3, 10\.0\.0\.5 2; .*raise/,
    ),
  ]);
  for (let second = 0; second < 59; second++) {
    log.add([{ why: 'tooManyConnections', who: '10.0.0.5', count: 1 }]);
    pass(1);
  }
  expect(lines).toHaveLength(1);
  pass(1);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('in the last minute: 10.0.0.5 59;');
  pass(600);
  expect(lines).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

it('has a line for each kind, and names the worst few', () => {
  const { lines, log, pass } = start();
  log.add([
    { why: 'metricsPort', who: '2001:db8:0:1', count: 17 },
    ...Array.from(
      { length: 7 },
      (_, i) => ({ why: 'tooManyConnections', who: `10.0.1.${i}`, count: i + 1 }) as const,
    ),
  ]);
  pass(1);
  expect(lines).toEqual([
    expect.stringMatching(/^connections to the metrics port closed .*: 2001:db8:0:1::\/64 17; .*block it/),
    expect.stringContaining(': 10.0.1.6 7, 10.0.1.5 6, 10.0.1.4 5, 10.0.1.3 4, 10.0.1.2 3, others 3; '),
  ]);
});

it('names tenants with their limits, whether the scheduler or a frontend refused them', () => {
  const { lines, log, answer, pass } = start();
  answer(0, LIMIT_NONE, 100);
  pass(5);
  expect([lines, vi.getTimerCount()]).toEqual([[], 0]);
  answer(1, LIMIT_RATE, 30);
  answer(1, LIMIT_SHARE, 5);
  log.add([{ why: 'rate', who: 'acme', count: 4 }]);
  pass(1);
  expect(lines).toEqual([
    expect.stringMatching(
      /^requests beyond the rates of tenants refused .*: acme 34 \(rate 500\/s, burst 20\); /,
    ),
    expect.stringMatching(/^GPUs are overloaded.*: acme 5 \(share 75 %\); .*add GPUs/),
  ]);
  pass(59);
  answer(1, LIMIT_RATE, 7);
  pass(1);
  expect(lines[2]).toContain('in the last minute: acme 7 (rate 500/s, burst 20); ');
  pass(600);
  expect(lines).toHaveLength(3);
});

it('is silent after it was closed', () => {
  const { lines, log, answer, pass } = start();
  answer(1, LIMIT_RATE, 1);
  log.add([{ why: 'tooManyConnections', who: '10.0.0.5', count: 1 }]);
  log.close();
  pass(120);
  expect([lines, vi.getTimerCount()]).toEqual([[], 0]);
});
