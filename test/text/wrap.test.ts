import { describe, expect, it } from 'vitest';
import { wrap, wrapParts } from '../../src/text/wrap.js';

describe('wrap', () => {
  it('breaks between words, and leaves a word that is too long whole', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('unbreakable yes', 5)).toEqual(['unbreakable', 'yes']);
    expect(wrap('', 5)).toEqual(['']);
    expect(wrap('all of 100 % in 10 ms', 10)).toEqual(['all of', '100 % in', '10 ms']);
  });
});

describe('wrapParts', () => {
  it('breaks between parts, so that no line holds the rest of one', () => {
    const text = '744 of 900 req/s in time · bins of 500 ms · SLO 10 ms, schedule_ahead 6 ms';
    expect(wrapParts(text, 13, 420)).toEqual([
      '744 of 900 req/s in time · bins of 500 ms',
      'SLO 10 ms, schedule_ahead 6 ms',
    ]);
    expect(wrapParts(text, 13, 2000)).toEqual([text]);
  });

  it('breaks a part that is wider than a line between words', () => {
    const lines = wrapParts('short · a part that is much longer than the line is wide', 13, 130);
    expect(lines[0]).toBe('short');
    expect(lines.slice(1).join(' ')).toBe('a part that is much longer than the line is wide');
    expect(lines.length).toBeGreaterThan(2);
  });
});
