import { expect, it } from 'vitest';
import { Repeats } from '../../src/live/repeats.js';

const S = 1_000_000_000;

it('says the same thing once a minute, with how often it happened, and other things at once', () => {
  const repeats = new Repeats();
  expect(repeats.toSay('a', 0)).toBe(1);
  for (let i = 1; i < 60; i++) expect(repeats.toSay('a', i * S)).toBe(0);
  expect(repeats.toSay('b', 30 * S)).toBe(1);
  expect(repeats.toSay('a', 60 * S)).toBe(60);
  expect(repeats.toSay('a', 61 * S)).toBe(0);
  expect(repeats.toSay('a', 120 * S)).toBe(2);
});
