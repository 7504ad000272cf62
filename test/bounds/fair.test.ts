import { describe, expect, it } from 'vitest';
import { type Random, stream } from '../../src/base/random/streams.js';
import { fairBound } from '../../src/bounds/fair.js';
import { upperBounds } from '../../src/bounds/upper-bounds.js';
import type { ModelSpec } from '../../src/core/model.js';
import { model, offered, type Row } from './examples.js';
import { mostServable } from './exhaustive.js';

describe('the bound under a rule of fairness', () => {
  // Within 12 go six requests of the cheap model, or one of the dear one and three of the cheap one.
  const CHEAP_AND_DEAR = [model({ 1: 2 }), model({ 1: 6 })];
  const ROWS = [
    ...Array.from({ length: 6 }, (): Row => [0, 0, 12]),
    ...Array.from({ length: 2 }, (): Row => [1, 0, 12]),
  ];

  it('is what is left when dear models get their share', () => {
    const cluster = { models: CHEAP_AND_DEAR, gpus: 1 };
    expect(upperBounds(offered(ROWS), cluster).windowLimited).toBe(6);
    expect(fairBound(offered(ROWS), cluster, 0)).toBe(6);
    // Attainment of the dear model x / 2 ≥ (y + x) / 8 with 2 y + 6 x = 12: x = 6 / 7 in parts of requests.
    expect(fairBound(offered(ROWS), cluster, 1)).toBe(4);
  });

  it.each([0.3, 0.6, 0.9, 1])('is never below the best fair schedule: %d', (fairness) => {
    const random = stream(1, `fair ${fairness}`);
    let [tight, lower] = [0, 0];
    for (let i = 0; i < 150; i++) {
      const { rows, models, gpus } = drawn(random);
      const best = mostFairlyServable(rows, models, gpus, fairness);
      const bound = fairBound(offered(rows), { models, gpus }, fairness);
      expect(bound, JSON.stringify({ rows, gpus })).toBeGreaterThanOrEqual(best);
      if (bound === best) tight++;
      if (bound < upperBounds(offered(rows), { models, gpus }).windowLimited) lower++;
    }
    expect(tight).toBeGreaterThan(40);
    // With six requests a mild rule is rarely in the way.
    if (fairness >= 0.9) expect(lower).toBeGreaterThan(0);
  });
});

function drawn(random: Random): { rows: Row[]; models: ModelSpec[]; gpus: number } {
  const models = [model({ 1: 2, 2: 3 }), model({ 1: 4 + Math.floor(random() * 4) })];
  const rows = Array.from({ length: 6 }, (): Row => {
    const sloNs = 6 + Math.floor(random() * 8);
    return [random() < 0.6 ? 0 : 1, Math.floor(random() * 6), sloNs];
  });
  return { rows: rows.sort((a, b) => a[1] - b[1]), models, gpus: random() < 0.7 ? 1 : 2 };
}

/** The most requests that a schedule serves that keeps to the rule, by trying every set of requests. */
function mostFairlyServable(
  rows: readonly Row[],
  models: readonly ModelSpec[],
  gpus: number,
  fairness: number,
): number {
  const servable = rows.filter((row) => mostServable(offered([row]), { models, gpus }) === 1);
  let best = 0;
  for (let set = 1; set < 1 << servable.length; set++) {
    const chosen = servable.filter((_, i) => (set >> i) & 1);
    if (chosen.length <= best || !isFair(chosen, servable, fairness)) continue;
    if (mostServable(offered(chosen), { models, gpus }) === chosen.length) best = chosen.length;
  }
  return best;
}

function isFair(chosen: readonly Row[], all: readonly Row[], fairness: number): boolean {
  const of = (rows: readonly Row[], wanted: number) => rows.filter(([index]) => index === wanted).length;
  return [...new Set(all.map(([index]) => index))].every(
    (index) => of(chosen, index) / of(all, index) >= (fairness * chosen.length) / all.length - 1e-12,
  );
}
