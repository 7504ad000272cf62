import { describe, expect, it } from 'vitest';
import { stream } from '../../src/base/random/streams.js';
import { batchKinds, fluidCosts, windowCosts } from '../../src/bounds/costs.js';
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
    expect([...windowCosts(windows, [KINDS, KINDS])]).toEqual([4, 4, 4]);
    expect([...fluidCosts(windows, [KINDS, KINDS])]).toEqual([2, 4, 2]);
  });

  it('are what trying every start says', () => {
    const seed = 'window-costs';
    const random = stream(seed, 'rows');
    for (let n = 0; n < 200; n++) {
      const rows = Array.from({ length: 1 + Math.floor(random() * 12) }, (): Row => {
        return [0, Math.floor(random() * 25), 4 + Math.floor(random() * 14)];
      }).sort(([, left], [, right]) => left - right);
      const seen = `seed ${seed}, ${n}: ${JSON.stringify(rows)}`;
      const windows = windowsOf(rows);
      expect([...windowCosts(windows, [KINDS])], seen).toEqual(rows.map((row) => costByTrying(row, rows)));
    }
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
