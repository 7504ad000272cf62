import { expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/units.js';
import { judge } from '../../../src/tools/doctor/check.js';
import { measureTiming, TIMING, type Timing } from '../../../src/tools/doctor/timing.js';
import { statuses } from './hosts.js';

const QUIET: Timing = {
  thread: { runs: 600, minMs: 0, medianMs: 0.0008, p90Ms: 0.001, p99Ms: 0.02, maxMs: 0.3 },
  gaps: { longestNs: 700_000, longPerS: 0, lostShare: 0.001 },
};

it('is content with a quiet machine', () => {
  const checks = judge(TIMING, QUIET);
  expect(statuses(checks)).toEqual({ 'timing.thread': 'ok', 'timing.jitter': 'ok' });
  expect(checks.map(({ found }) => found)).toEqual([
    'late by 0.8 µs (p50), 20.0 µs (p99), 0.30 ms (max)',
    'longest gap 0.70 ms, 0.0 above 1 ms per second, 0.1 % of the time lost',
  ]);
});

it('requires of a controller only that it keeps its core: its timer is not measured', () => {
  const required = judge(TIMING, QUIET).filter(({ requiredFor }) => requiredFor.includes('controller'));
  expect(required.map(({ id }) => id)).toEqual(['timing.jitter']);
});

it.each<[string, Partial<Timing>]>([
  ['timing.thread', { thread: { ...QUIET.thread, p99Ms: 1.5 } }],
  ['timing.jitter', { gaps: { ...QUIET.gaps, longestNs: 6 * NS_PER_MS } }],
  ['timing.jitter', { gaps: { ...QUIET.gaps, longPerS: 40 } }],
  ['timing.jitter', { gaps: { ...QUIET.gaps, lostShare: 0.2 } }],
])('fails %s alone for %j', (id, change) => {
  const failed = judge(TIMING, { ...QUIET, ...change }).filter(({ status }) => status === 'failed');
  expect(failed.map((check) => check.id)).toEqual([id]);
});

it('measures this machine', async () => {
  const { thread, gaps } = await measureTiming(60 * NS_PER_MS);
  expect(thread.runs).toBeGreaterThan(0);
  // It does not go on early.
  expect(thread.minMs).toBeGreaterThanOrEqual(0);
  expect(thread.maxMs).toBeGreaterThanOrEqual(thread.minMs);
  expect(gaps.longestNs).toBeGreaterThanOrEqual(0);
  expect(gaps.lostShare).toBeGreaterThanOrEqual(0);
  expect(gaps.lostShare).toBeLessThanOrEqual(1);
});
