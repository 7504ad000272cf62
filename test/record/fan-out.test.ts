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

  it('tells of what is sent to those that want to see it', () => {
    seen.length = 0;
    const curious = (name: string) => ({ ...observer(name), sent: () => seen.push(`${name} sent`) });
    fanOut([observer('a'), curious('b'), curious('c')]).sent?.(action(), 0);
    expect(seen).toEqual(['b sent', 'c sent']);
    expect(fanOut([observer('a'), observer('b')]).sent).toBeUndefined();
  });
});
