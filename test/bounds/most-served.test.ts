import { describe, expect, it } from 'vitest';
import { type Random, stream } from '../../src/base/random/streams.js';
import { mostServed, mostWork } from '../../src/bounds/most-served.js';
import { servableWindows, type Windows } from '../../src/bounds/requests.js';
import { offered, type Row } from './examples.js';

/** Windows of one model, with any costs. */
function windowsOf(rows: readonly Row[]): Windows {
  return servableWindows(offered(rows), [[0]]);
}

function randomRows(random: Random, count: number, span: number): Row[] {
  return Array.from({ length: count }, (): Row => {
    return [0, Math.floor(random() * span), 1 + Math.floor(random() * 12)];
  }).sort(([, left], [, right]) => left - right);
}

describe('the most work', () => {
  it('leaves out what costs more than the limit', () => {
    const windows = windowsOf([
      [0, 0, 10],
      [0, 0, 10],
    ]);
    expect(mostWork(windows, Float64Array.of(2, 3), 2, 1)).toBe(2);
  });

  it('is the least cut: time that is open for some, and all work of the others', () => {
    const seed = 'most-work';
    const random = stream(seed, 'rows');
    for (let n = 0; n < 200; n++) {
      const rows = randomRows(random, 1 + Math.floor(random() * 8), 14);
      const costs = Float64Array.from(rows, () => 1 + Math.floor(random() * 6));
      const gpus = 1 + Math.floor(random() * 3);
      const seen = `seed ${seed}, ${n}: ${JSON.stringify({ rows, costs: [...costs], gpus })}`;
      expect(mostWork(windowsOf(rows), costs, 6, gpus), seen).toBeCloseTo(leastCut(rows, costs, gpus), 6);
    }
  });
});

describe('the most served', () => {
  // All three cost 1 and there is time for two: time is scarce in the window of the one left over.
  it('tells which requests found too little time', () => {
    const windows = windowsOf([
      [0, 0, 1],
      [0, 0, 1],
      [0, 5, 1],
    ]);
    const { served, scarceNs } = mostServed(windows, Float64Array.of(1, 1, 1), 1);
    expect(served).toBe(2);
    expect([...scarceNs]).toEqual([Number.POSITIVE_INFINITY, 1, Number.POSITIVE_INFINITY]);
  });

  it('is the sum over all levels of cost, or little more where they are many', () => {
    const seed = 'most-served';
    const random = stream(seed, 'rows');
    let above = 0;
    for (let n = 0; n < 100; n++) {
      const rows = randomRows(random, 400, 500 + random() * 2000);
      const windows = windowsOf(rows);
      const costs = Float64Array.from(rows, () => Math.ceil(random() * 200) / 20);
      const exact = overAllLevels(windows, costs);
      const { served: found } = mostServed(windows, costs, 1);
      const seen = `seed ${seed}, ${n}`;
      expect(found, seen).toBeGreaterThanOrEqual(exact - 1e-6);
      expect(found, seen).toBeLessThanOrEqual(exact * 1.01);
      if (found > exact + 1e-6) above++;
    }
    expect(above, 'some leave levels out').toBeGreaterThan(0);
  });
});

/** Minimum over sets A of requests: gpus × time in which a window of A is open + costs of the others. */
function leastCut(rows: readonly Row[], costs: Float64Array, gpus: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let set = 0; set < 1 << rows.length; set++) {
    const open = new Set<number>();
    let others = 0;
    for (const [i, [, arrival, slo]] of rows.entries()) {
      if ((set >> i) & 1) for (let t = arrival; t < arrival + slo; t++) open.add(t);
      else others += costs[i];
    }
    least = Math.min(least, gpus * open.size + others);
  }
  return least;
}

/** Greedy by ascending cost: what each level adds to the work, at what a request of it costs. */
function overAllLevels(windows: Windows, costs: Float64Array): number {
  let served = 0;
  let before = 0;
  for (const cost of [...new Set(costs)].sort((left, right) => left - right)) {
    const work = mostWork(windows, costs, cost, 1);
    served += (work - before) / cost;
    before = work;
  }
  return served;
}
