import { expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import { ClockSync } from '../../../../src/live/controller/link/clock-sync.js';
import { Heartbeat } from '../../../../src/live/controller/link/heartbeat.js';
import { useFakeTime } from '../../../fake-time.js';

useFakeTime();

it('calls the other side silent when it has said nothing for longer than it may', async () => {
  let silences = 0;
  let pings = 0;
  const heartbeat = new Heartbeat({
    everyMs: 10,
    silenceMs: 40,
    clock: new ClockSync(),
    nowNs: () => 0,
    time: REAL_TIME,
    ping: () => pings++,
    synchronised: () => {},
    silent: () => silences++,
  });
  await vi.advanceTimersByTimeAsync(40);
  expect([silences, pings]).toEqual([0, 5]);
  heartbeat.heard();
  await vi.advanceTimersByTimeAsync(40);
  expect(silences).toBe(0);
  await vi.advanceTimersByTimeAsync(10);
  expect(silences).toBe(1);
  heartbeat.stop();
  await vi.advanceTimersByTimeAsync(100);
  expect(silences).toBe(1);
});
