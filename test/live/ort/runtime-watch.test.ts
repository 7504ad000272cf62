import { expect, it, vi } from 'vitest';
import { cpuWaitMs, RuntimeWatch } from '../../../src/live/ort/runtime-call.js';
import { useFakeTime } from '../../fake-time.js';

useFakeTime(['setTimeout', 'clearTimeout', 'setImmediate']);

/** A watch with a limit of 1 s, and what was waited for the CPU. */
function newWatch(): { watch: RuntimeWatch; cpu: { waitedMs: number } } {
  const cpu = { waitedMs: 0 };
  const watch = new RuntimeWatch(
    1000,
    () => cpu.waitedMs,
    () => {},
  );
  return { watch, cpu };
}

it('counts from the last sign of life', () => {
  const { watch } = newWatch();
  vi.advanceTimersByTime(5000);
  watch.heard();
  vi.advanceTimersByTime(900);
  watch.heard();
  vi.advanceTimersByTime(999);
  expect(watch.isOver).toBe(false);
  vi.advanceTimersByTime(2);
  expect(watch.isOver).toBe(true);
});

it('does not count the time in which others have the CPU', () => {
  const { watch, cpu } = newWatch();
  cpu.waitedMs = 70;
  watch.heard();
  cpu.waitedMs += 800;
  vi.advanceTimersByTime(1001);
  cpu.waitedMs += 600;
  vi.advanceTimersByTime(801);
  vi.advanceTimersByTime(598);
  expect(watch.isOver).toBe(false);
  vi.advanceTimersByTime(3);
  expect(watch.isOver).toBe(true);
});

it('is not over when a sign of life waits to be read', () => {
  const { watch } = newWatch();
  watch.heard();
  setTimeout(() => setImmediate(() => watch.heard()), 999);
  vi.advanceTimersByTime(1000);
  vi.advanceTimersByTime(998);
  expect(watch.isOver).toBe(false);
});

it.runIf(process.platform === 'linux')(
  'knows for how long a process has waited, and nothing of one that is gone',
  () => {
    expect(cpuWaitMs(process.pid)).toBeGreaterThan(0);
    expect(cpuWaitMs(undefined)).toBe(0);
  },
);
