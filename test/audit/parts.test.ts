import { describe, expect, it } from 'vitest';
import { IdSet } from '../../src/audit/id-set.js';
import { Lane } from '../../src/audit/lane.js';
import { Latencies } from '../../src/audit/latencies.js';
import { Weights } from '../../src/audit/weights.js';

describe('Lane', () => {
  it('lets one action begin when another ends, in whatever order they are told', () => {
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
});

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
    expect(weights.infer(1, 25, 31, 8, 0)).toMatch(/gone before its end \(line 6\)/);
    weights.load(1, 40, 50, 9);
    expect(weights.infer(1, 45, 48, 10, 0)).toMatch(/gone/);
    expect(weights.infer(1, 50, 60, 11, 0)).toBe('');
    expect(weights.unload(1, 55, 12, 0)).toBe(11);
  });

  it('say nothing of what a lost worker held', () => {
    const weights = new Weights(() => 7);
    weights.load(1, 0, 10, 2);
    weights.lost();
    expect([weights.pages, weights.infer(1, 20, 30, 3, 0)]).toEqual([0, '']);
  });
});

describe('IdSet', () => {
  it('knows what is there and what is missing', () => {
    const ids = new IdSet();
    expect([ids.firstMissing, ids.missing]).toEqual([-1, 0]);
    for (let id = 0; id < 20_000; id++) if (id !== 12_345) expect(ids.add(id)).toBe(true);
    expect(ids.add(777)).toBe(false);
    expect([ids.firstMissing, ids.missing]).toEqual([12_345, 1]);
    expect(ids.add(12_345)).toBe(true);
    expect([ids.firstMissing, ids.missing]).toEqual([-1, 0]);
  });
});

describe('Latencies', () => {
  it('are those of the sorted list', () => {
    const latencies = new Latencies();
    const other = new Latencies();
    const values = Array.from({ length: 5000 }, (_, i) => Math.round(1e6 * 1.002 ** i));
    values.forEach((value, i) => {
      (i % 2 === 0 ? latencies : other).add(value);
    });
    latencies.addAll(other);
    for (const share of [0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = values[Math.ceil(share * 5000) - 1];
      expect(Math.abs((latencies.quantileNs(share) as number) / exact - 1)).toBeLessThan(5.1e-5);
    }
    expect(latencies.largestNs).toBe(values.at(-1));
    expect(latencies.meanNs).toBeCloseTo(values.reduce((sum, value) => sum + value) / 5000, -2);
    const empty = new Latencies();
    expect([empty.meanNs, empty.quantileNs(0.5), empty.largestNs]).toEqual([null, null, null]);
  });
});
