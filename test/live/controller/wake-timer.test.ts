import { expect, it, vi } from 'vitest';
import { NS_PER_MS } from '../../../src/base/units.js';
import { REAL_TIME } from '../../../src/base/world/real-time.js';
import { WakeTimer } from '../../../src/live/controller/live-controller.js';
import { useFakeTime } from '../../fake-time.js';

useFakeTime();

it('never wakes early, even where the clock is behind the timers', async () => {
  let nowNs = 0;
  const lateNs: number[] = [];
  const timer = new WakeTimer({ nowNs: () => nowNs, time: REAL_TIME }, (late) => lateNs.push(late));
  timer.set(10 * NS_PER_MS);
  nowNs = 9.5 * NS_PER_MS;
  await vi.advanceTimersByTimeAsync(10);
  expect(lateNs).toEqual([]);
  nowNs = 10.25 * NS_PER_MS;
  await vi.advanceTimersByTimeAsync(1);
  expect(lateNs).toEqual([0.25 * NS_PER_MS]);
});
