import { describe, expect, it } from 'vitest';
import { fanOut } from '../../src/record/fan-out.js';
import { action } from './fixtures.js';

describe('fanOut', () => {
  const seen: string[] = [];
  const observer = (name: string) => ({
    answered: () => seen.push(`${name} answered`),
    completed: () => seen.push(`${name} completed`),
  });

  it('tells every observer, in order', () => {
    seen.length = 0;
    const all = fanOut([observer('a'), observer('b')]);
    all.completed(action(), 0, 0, 0);
    expect(seen).toEqual(['a completed', 'b completed']);
  });

  it('tells of decisions to those that want to see it', () => {
    seen.length = 0;
    const curious = (name: string) => ({ ...observer(name), decided: () => seen.push(`${name} decided`) });
    fanOut([observer('a'), curious('b'), curious('c')]).decided?.(action(), 0);
    expect(seen).toEqual(['b decided', 'c decided']);
    expect(fanOut([observer('a'), observer('b')]).decided).toBeUndefined();
  });
});
