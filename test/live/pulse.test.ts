import { describe, expect, it, vi } from 'vitest';
import { REAL_TIME } from '../../src/base/world/real-time.js';
import { beat, newPulse, PulseReader, PulseWatch } from '../../src/live/pulse.js';
import { useFakeTime } from '../fake-time.js';

useFakeTime();

function watched(
  silenceMs: number,
  crowding = () => 1,
): { watch: PulseWatch; said: string[]; beatOnce: () => void } {
  const said: string[] = [];
  const watch = new PulseWatch({ time: REAL_TIME, crowding }, (reason) => said.push(reason), silenceMs);
  const beats = new Int32Array(watch.buffer);
  return { watch, said, beatOnce: () => Atomics.add(beats, 0, 1) };
}

describe('a watch over a thread', () => {
  it('says once that a thread which has beaten does so no more', () => {
    const { said, beatOnce } = watched(2000);
    beatOnce();
    vi.advanceTimersByTime(1900);
    beatOnce();
    vi.advanceTimersByTime(2000);
    expect(said).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(said).toEqual(['has shown no sign of life for 2 s']);
    vi.advanceTimersByTime(60_000);
    expect(said).toHaveLength(1);
  });

  it('has patience where threads share cores', () => {
    const { said, beatOnce } = watched(2000, () => 22);
    beatOnce();
    vi.advanceTimersByTime(43_000);
    expect(said).toEqual([]);
    vi.advanceTimersByTime(2000);
    expect(said).toEqual(['has shown no sign of life for 44 s']);
  });

  it('lets it start, however long that takes', () => {
    const { said } = watched(2000);
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual([]);
  });

  it('says nothing of one that beats, or once it is stopped', () => {
    const { watch, said } = watched(2000);
    beat(watch.buffer, REAL_TIME);
    vi.advanceTimersByTime(60_000);
    watch.stop();
    vi.clearAllTimers();
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual([]);
  });

  it('takes no thread for dead because the process was suspended', () => {
    const { watch, said } = watched(2000);
    beat(watch.buffer, REAL_TIME);
    vi.advanceTimersByTime(1000);
    // What a suspended process misses of its timers, it does not make up for.
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(1000);
    expect(said).toEqual([]);
  });
});

it('a reader of a pulse says that a thread hangs, and that it goes on', () => {
  const pulse = newPulse();
  const said: (string | null)[] = [];
  const reader = new PulseReader(
    pulse,
    { time: REAL_TIME, crowding: () => 1 },
    (reason) => said.push(reason),
    2000,
  );
  let end = beat(pulse, REAL_TIME);
  for (let i = 0; i < 2; i++) {
    vi.advanceTimersByTime(10_000);
    end();
    vi.advanceTimersByTime(10_000);
    end = beat(pulse, REAL_TIME);
    vi.advanceTimersByTime(10_000);
  }
  const hangs = 'has shown no sign of life for 2 s';
  expect(said).toEqual([hangs, null, hangs, null]);
  reader.stop();
  end();
  vi.advanceTimersByTime(10_000);
  expect(said).toHaveLength(4);
});
