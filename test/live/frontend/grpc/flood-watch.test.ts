import { describe, expect, it } from 'vitest';
import { FloodWatch } from '../../../../src/live/frontend/grpc/flood-watch.js';

const MIB = 1 << 20;
/** Open at a time on one connection. */
const STREAMS = 128;

/** How many times `act` may be done until it says that it is a flood. */
function limitOf(act: () => boolean): number {
  for (let times = 0; times < 10_000; times++) if (act()) return times;
  return Number.POSITIVE_INFINITY;
}

/** What is counted by the second, with its limit. */
const LIMITS: readonly (readonly [string, number, (flood: FloodWatch) => boolean])[] = [
  ['calls without an inference', 300, (flood) => flood.idle()],
  ['resets at once', 200, (flood) => flood.reset(10, false)],
  ['resets at once of inferences', 1000, (flood) => flood.reset(10, true)],
  ['pings and settings', 50, (flood) => flood.controlFrame()],
];

describe('on one connection', () => {
  it.each(LIMITS)('%s are a flood beyond %d a second', (_, limit, act) => {
    const flood = new FloodWatch();
    for (let second = 0; second < 3; second++) {
      for (let i = 0; i < limit; i++) expect(act(flood)).toBe(false);
      flood.second(0);
    }
    // A quiet second is not saved up.
    flood.second(0);
    flood.second(0);
    expect(limitOf(() => act(flood))).toBe(limit);
  });

  it('resets of either kind do not use up what the other may', () => {
    const flood = new FloodWatch();
    for (let i = 0; i < 1000; i++) flood.reset(0, true);
    expect(limitOf(() => flood.reset(0, false))).toBe(200);
  });

  it('calls that are given up later are none, however many', () => {
    const flood = new FloodWatch();
    expect(limitOf(() => flood.reset(10.1, false))).toBe(Number.POSITIVE_INFINITY);
    expect(limitOf(() => flood.reset(10.1, true))).toBe(Number.POSITIVE_INFINITY);
  });

  it('an inference earns two calls without one, up to the limit', () => {
    const flood = new FloodWatch();
    for (let i = 0; i < 1000; i++) flood.served();
    for (let i = 0; i < 5000; i++) {
      expect(flood.idle() || flood.idle()).toBe(false);
      flood.served();
    }
    expect(limitOf(() => flood.idle())).toBe(300);
  });

  it('all calls may be given up once a second, also before their message has come', () => {
    const flood = new FloodWatch();
    for (let second = 0; second < 10; second++) {
      for (let i = 0; i < STREAMS; i++) {
        expect(flood.idle()).toBe(false);
        expect(flood.reset(0, false)).toBe(false);
      }
      flood.second(0);
    }
  });

  it('bytes without messages are a flood beyond 1 MiB a second, and 4 KiB for each call', () => {
    const flood = new FloodWatch();
    expect(flood.hasRead(MIB)).toBe(false);
    expect(flood.hasRead(MIB + 1)).toBe(true);
    flood.called();
    expect(flood.hasRead(MIB + 4096)).toBe(false);
    expect(flood.hasRead(MIB + 4097)).toBe(true);
  });

  it('bytes of messages, in either direction, allow as many again', () => {
    const flood = new FloodWatch();
    flood.moved(10 * MIB);
    flood.moved(5 * MIB);
    expect(flood.hasRead(31 * MIB)).toBe(false);
    expect(flood.hasRead(31 * MIB + 1)).toBe(true);
  });

  it('each second counts its own bytes, and allows them by its own calls and messages', () => {
    const flood = new FloodWatch();
    flood.called();
    flood.moved(100 * MIB);
    flood.second(150 * MIB);
    expect(flood.hasRead(151 * MIB)).toBe(false);
    expect(flood.hasRead(151 * MIB + 1)).toBe(true);
  });
});
