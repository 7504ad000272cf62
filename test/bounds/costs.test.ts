import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { batchKinds, fluidCosts, raiseCosts, windowCosts } from '../../src/bounds/costs.js';
import { servableWindows, type Windows } from '../../src/bounds/requests.js';
import { model, offered, type Row } from './examples.js';

const KINDS = batchKinds(model({ 1: 4, 2: 6, 4: 8 }), 8);

function windowsOf(rows: readonly Row[], models = 1): Windows {
  return servableWindows(offered(rows), Array<number[]>(models).fill([4]));
}

describe('window costs', () => {
  it('let neither other models nor requests with tighter SLOs share', () => {
    const windows = windowsOf(
      [
        [0, 0, 20],
        [0, 1, 5],
        [1, 1, 20],
      ],
      2,
    );
    expect(windowCosts(windows, [KINDS, KINDS]).map((costs) => [...costs])).toEqual([
      [4, 4, 4],
      [4, 4, 4],
    ]);
    expect([...fluidCosts(windows, [KINDS, KINDS])]).toEqual([2, 4, 2]);
  });

  it('are shares of the fullest batches at first, and never more than any batch takes', () => {
    const seed = 'window-costs';
    const random = stream(seed, 'rows');
    let sets = 0;
    for (let n = 0; n < 200; n++) {
      const rows = Array.from({ length: 1 + Math.floor(random() * 12) }, (): Row => {
        return [0, Math.floor(random() * 25), 4 + Math.floor(random() * 14 * (1 + (n % 3)))];
      }).sort(([, left], [, right]) => left - right);
      const seen = `seed ${seed}, ${n}: ${JSON.stringify(rows)}`;
      const windows = windowsOf(rows);
      const first = new Float64Array(rows.length);
      raiseCosts(windows, [KINDS], first, null);
      expect([...first], seen).toEqual(rows.map((row) => costByTrying(row, rows)));
      for (const costs of windowCosts(windows, [KINDS])) {
        sets++;
        expect(mostOver(costs, rows), seen).toBeLessThan(1e-9);
        expect(Math.min(...costs.map((cost, i) => cost / first[i]!)), seen).toBeGreaterThanOrEqual(0.8);
      }
    }
    expect(sets).toBeGreaterThan(250);
  });

  it('leave to those with little time what others can do without', () => {
    // Any four share 8, which is 2 each. At 1.6 for the six that can wait, 3.2 is left for each of the three that cannot.
    const rows: Row[] = [...Array<Row>(6).fill([0, 0, 60]), [0, 5, 8], [0, 20, 8], [0, 35, 8]];
    const [plain, scaled] = windowCosts(windowsOf(rows), [KINDS]);
    expect(sum(plain!)).toBe(18);
    expect(sum(scaled!)).toBeCloseTo(19.2, 9);
  });
});

function costByTrying([, arrival, slo]: Row, rows: readonly Row[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { size, execNs } of KINDS) {
    for (let start = arrival; start <= arrival + slo - execNs; start++) {
      const together = rows.filter(([, a, s]) => a <= start && start <= a + s - execNs).length;
      least = Math.min(least, execNs / Math.min(size, together));
    }
  }
  return least;
}

/** Most by which the costs of a batch exceed its time. */
function mostOver(costs: Float64Array, rows: readonly Row[]): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const { size, execNs } of KINDS)
    for (let start = 0; start < 90; start++) {
      const inTime = [...costs].filter((_, i) => {
        const [, arrival, slo] = rows[i]!;
        return arrival <= start && start <= arrival + slo - execNs;
      });
      const dearest = inTime.sort((a, b) => b - a).slice(0, size);
      most = Math.max(most, sum(dearest) - execNs);
    }
  return most;
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}
