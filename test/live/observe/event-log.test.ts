import { expect, it, vi } from 'vitest';
import { EventLog } from '../../../src/live/observe/event-log.js';
import { useFakeTime } from '../../fake-time.js';

useFakeTime();

/** A log of one subject. */
function log() {
  const lines: string[] = [];
  const write = (_fields: object, line: string) => void lines.push(line);
  const events = new EventLog({ info: write, warn: write, error: write } as never);
  return { lines, say: (text: string) => events.say('warn', {}, text, 'worker') };
}

it('what comes and goes 300 times a minute is said at once, then once a minute', () => {
  const { lines, say } = log();
  for (let i = 0; i < 600; i++) {
    say(i % 2 === 0 ? 'is down' : 'is up');
    vi.advanceTimersByTime(200);
  }
  expect(lines).toEqual([
    'is down',
    'is up',
    // The last line is how it is.
    'is down (149 times in the last minute)',
    'is up (149 times in the last minute)',
    'is down (150 times in the last minute)',
    'is up (150 times in the last minute)',
  ]);
});

it('what is new of a subject is said at once, and again at the end of the minute if older lines are', () => {
  const { lines, say } = log();
  say('is up');
  say('is up');
  say('is not accepted');
  expect(lines).toEqual(['is up', 'is not accepted']);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(2)).toEqual(['is up (once in the last minute)', 'is not accepted']);
  say('is up');
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(4)).toEqual(['is up (once in the last minute)']);
});

it('after a quiet minute it starts over', () => {
  const { lines, say } = log();
  for (let i = 0; i < 5; i++) say('is up');
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual(['is up', 'is up (4 times in the last minute)']);
  vi.advanceTimersByTime(60_000);
  say('is up');
  expect(lines).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
});

it('lines that all differ are few, too', () => {
  const { lines, say } = log();
  for (let i = 0; i < 600; i++) {
    say(`controller ${i} came`);
    vi.advanceTimersByTime(200);
  }
  expect(lines).toHaveLength(3 * 20);
  expect(lines.slice(19, 22)).toEqual([
    'controller 19 came',
    'controller 280 came (once in the last minute) (260 other lines are left out)',
    'controller 281 came (once in the last minute)',
  ]);
  expect(lines.at(-1)).toBe('controller 599 came (once in the last minute)');
});
