import { describe, expect, it } from 'vitest';
import { Weights } from '../../src/audit/weights.js';

describe('Weights', () => {
  it('know each copy, also after it has gone', () => {
    const weights = new Weights(() => 7);
    expect(weights.infer(1, 5, 6, 2, 0)).toMatch(/no LOAD/);
    weights.load(1, 0, 10, 3);
    expect(weights.pages).toBe(7);
    expect(weights.infer(1, 9, 12, 4, 0)).toMatch(/no LOAD/);
    expect(weights.infer(1, 10, 20, 5, 0)).toBe('');
    expect(weights.unload(1, 30, 6, 0)).toBe(0);
    expect(weights.pages).toBe(0);
    expect(weights.infer(1, 22, 29, 7, 0)).toBe('');
    expect(weights.infer(1, 25, 31, 8, 0)).toMatch(/unloaded before its end \(line 6\)/);
    weights.load(1, 40, 50, 9);
    expect(weights.infer(1, 45, 48, 10, 0)).toMatch(/unloaded/);
    expect(weights.infer(1, 50, 60, 11, 0)).toBe('');
    expect(weights.unload(1, 55, 12, 0)).toBe(11);
  });

  it('say nothing of what a lost worker held', () => {
    const weights = new Weights(() => 7);
    weights.load(1, 0, 10, 2);
    weights.lost();
    expect([weights.pages, weights.infer(1, 20, 30, 3, 0)]).toEqual([0, '']);
    // It may have come back with a copy of its own, whatever was loaded and unloaded since.
    weights.load(1, 40, 50, 4);
    weights.unload(1, 60, 5, 0);
    expect(weights.infer(1, 70, 80, 6, 0)).toBe('');
  });
});
