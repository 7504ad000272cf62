import { describe, expect, it } from 'vitest';
import { Lane } from '../../src/audit/lane.js';

describe('Lane', () => {
  it('lets one action begin when another ends, in whatever order they come', () => {
    const lane = new Lane();
    const times = [0, 30, 10, 20, 50, 40];
    expect(times.map((begin, i) => lane.add(begin, begin + 10, i + 1, 0))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('names what an action overlaps', () => {
    const lane = new Lane();
    lane.add(0, 10, 1, 0);
    lane.add(20, 30, 2, 0);
    expect(lane.add(9, 15, 3, 0)).toBe(1);
    expect(lane.add(16, 21, 4, 0)).toBe(2);
    expect(lane.add(29, 40, 5, 2)).toBe(0);
  });

  it('still knows when what it forgot ended', () => {
    const lane = new Lane();
    for (let i = 0; i < 200; i++) expect(lane.add(i * 10, i * 10 + 10, i + 1, 0)).toBe(0);
    expect(lane.add(5, 6, 999, 0)).toBeGreaterThan(0);
  });

  it('remembers what ended last among what it forgot', () => {
    const lane = new Lane();
    lane.add(0, 1000, 1, 0);
    lane.add(1, 2, 2, 0);
    for (let i = 0; i < 64; i++) lane.add(2000 + i * 10, 2005 + i * 10, 3 + i, 0);
    expect(lane.add(500, 501, 999, 0)).toBe(1);
  });
});
