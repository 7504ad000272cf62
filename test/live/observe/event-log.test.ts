import { expect, it, vi } from 'vitest';
import { Bursts } from '../../src/live/bursts.js';
import { useFakeTime } from '../fake-time.js';

useFakeTime();

/** A log of one thing. */
function log() {
  const bursts = new Bursts();
  const lines: string[] = [];
  return { lines, say: (line: string) => bursts.say('worker', line, (said) => lines.push(said)) };
}

it('a thing that comes and goes 300 times a minute is said three times, then once a minute', () => {
  const { lines, say } = log();
  for (let i = 0; i < 600; i++) {
    say(i % 2 === 0 ? 'is down' : 'is up');
    vi.advanceTimersByTime(200);
  }
  expect(lines.slice(0, 6)).toEqual(['is down', 'is up', 'is down', 'is up', 'is down', 'is up']);
  // The last line is how it is.
  expect(lines.slice(6)).toEqual([
    'is down (147 times in the last minute)',
    'is up (147 times in the last minute)',
    'is down (150 times in the last minute)',
    'is up (150 times in the last minute)',
  ]);
});

it('what is new of a thing is said at once, and what was held back before it', () => {
  const { lines, say } = log();
  for (let i = 0; i < 4; i++) say('is up');
  say('is not accepted');
  expect(lines).toEqual(['is up', 'is up', 'is up', 'is up', 'is not accepted']);
  say('is up');
  say('is up');
  expect(lines).toHaveLength(5);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(5)).toEqual(['is up (2 times in the last minute)']);
});

it('after a quiet minute it starts over', () => {
  const { lines, say } = log();
  for (let i = 0; i < 5; i++) say('is up');
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(4);
  vi.advanceTimersByTime(60_000);
  say('is up');
  expect(lines).toHaveLength(5);
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
  expect(lines).toHaveLength(20 + 6 + 6);
  expect(lines.slice(20, 22)).toEqual([
    'controller 294 came (274 other lines are left out)',
    'controller 295 came',
  ]);
  expect(lines.at(-1)).toBe('controller 599 came');
});
