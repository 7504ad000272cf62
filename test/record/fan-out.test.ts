import { describe, expect, it } from 'vitest';
import { fanOut } from '../../src/record/fan-out.js';
import { action } from './fixtures.js';

describe('fanOut', () => {
  it('tells every observer, in order', () => {
    const seen: string[] = [];
    const observer = (name: string) => ({
      answered: () => seen.push(`${name} answered`),
      completed: () => seen.push(`${name} completed`),
    });
    const all = fanOut([observer('a'), observer('b')]);
    all.completed(action(), 0, 0, 0);
    expect(seen).toEqual(['a completed', 'b completed']);
  });
});
