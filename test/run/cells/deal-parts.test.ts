import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dealParts } from '../../../src/run/cells/deal-parts.js';
import { type Part, partsOf } from '../../../src/run/cells/parts.js';

const part = (model: number, load: readonly number[], pages = 1): Part => ({
  ...{ model, from: 0, to: 1, pages },
  load: Float64Array.from(load),
  mean: load.reduce((sum, one) => sum + one, 0) / load.length,
});

/** Sum over cells and intervals of load² / GPUs, of a deal. */
function unevenness(parts: readonly Part[], gpus: readonly number[], cellOf: readonly number[]): number {
  let sum = 0;
  for (const [cell, own] of gpus.entries()) {
    for (const i of parts[0]!.load.keys()) {
      const load = parts.reduce((all, one, p) => all + (cellOf[p] === cell ? one.load[i]! : 0), 0);
      sum += load ** 2 / own;
    }
  }
  return sum;
}

/** The least of all deals, each tried. */
function leastUnevenness(parts: readonly Part[], gpus: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let code = 0; code < gpus.length ** parts.length; code++) {
    const cellOf = parts.map((_, p) => Math.floor(code / gpus.length ** p) % gpus.length);
    if (new Set(cellOf).size < gpus.length) continue;
    const seats = parts.map(({ model }, p) => `${model} ${cellOf[p]}`);
    if (new Set(seats).size === seats.length) least = Math.min(least, unevenness(parts, gpus, cellOf));
  }
  return least;
}

describe('dealing parts to cells', () => {
  it('comes close to the best of all deals, and leaves no cell empty', () => {
    const load = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(load, { minLength: 4, maxLength: 8 }), fc.boolean(), (loads, uneven) => {
        const parts = loads.map((one, model) => part(model, one));
        const gpus = uneven ? [2, 1] : [1, 1, 1];
        const cellOf = dealParts(parts, gpus);
        expect(new Set(cellOf).size).toBe(gpus.length);
        const least = leastUnevenness(parts, gpus);
        expect(unevenness(parts, gpus, cellOf)).toBeLessThanOrEqual(1.25 * least + 1e-9);
      }),
    );
  });

  it('parts models whose bursts coincide, though their means are equal', () => {
    const parts = [part(0, [8, 0]), part(1, [8, 0]), part(2, [0, 8]), part(3, [0, 8])];
    const cellOf = dealParts(parts, [4, 4]);
    expect(cellOf[0]).not.toBe(cellOf[1]);
    expect(cellOf[2]).not.toBe(cellOf[3]);
  });

  it('exchanges parts where no move helps', () => {
    // The heaviest first gives 3 + 2 + 2 and 3 + 2.
    const parts = [3, 3, 2, 2, 2].map((load, model) => part(model, [load]));
    const cellOf = dealParts(parts, [1, 1]);
    expect(unevenness(parts, [1, 1], cellOf)).toBe(36 + 36);
  });

  it('gives a cell with twice the GPUs twice the load', () => {
    const parts = Array.from({ length: 300 }, (_, model) => part(model, [1 + (model % 7)]));
    const cellOf = dealParts(parts, [10, 20]);
    const loads = [0, 1].map((cell) =>
      parts.reduce((sum, { mean }, p) => sum + (cellOf[p] === cell ? mean : 0), 0),
    );
    expect(loads[1]! / loads[0]!).toBeCloseTo(2, 1);
  });

  it('evens out memory among models without load, and never at the price of load', () => {
    const idle = Array.from({ length: 8 }, (_, model) => part(model, [0], 10 + model));
    const pagesOf = (cellOf: readonly number[], cell: number) =>
      idle.reduce((sum, { pages }, p) => sum + (cellOf[p] === cell ? pages : 0), 0);
    const cellOf = dealParts(idle, [1, 1]);
    expect(Math.abs(pagesOf(cellOf, 0) - pagesOf(cellOf, 1))).toBeLessThanOrEqual(1);
    const heavy = [part(0, [5], 1000), part(1, [5], 1), part(2, [5], 1000), part(3, [5], 1)];
    const loaded = dealParts(heavy, [1, 1]).reduce((sum, cell) => sum + cell, 0);
    expect(loaded).toBe(2);
  });
});

describe('dealing again what is in use', () => {
  const loads = Array.from({ length: 60 }, (_, i) => 1 + ((i * 37) % 11) / 4);
  const parts = loads.map((load, model) => part(model, [load, load]));
  const gpus = [4, 4, 4];
  const before = dealParts(parts, gpus);
  const moved = (after: readonly number[]) => after.filter((cell, i) => cell !== before[i]).length;

  it('moves nothing where little has changed', () => {
    const now = loads.map((load, model) => part(model, [load * (model % 2 ? 1.03 : 0.98), load]));
    expect(moved(dealParts(now, gpus, before))).toBe(0);
    // From scratch, most would be elsewhere.
    expect(moved(dealParts(now, gpus))).toBeGreaterThan(20);
  });

  it('moves a few where a cell has too much, until it has not', () => {
    const now = loads.map((load, model) =>
      part(model, before[model] === 0 ? [load * 1.4, load * 1.4] : [load, load]),
    );
    const after = dealParts(now, gpus, before);
    expect(moved(after)).toBeGreaterThan(0);
    expect(moved(after)).toBeLessThan(20);
    const least = unevenness(now, gpus, dealParts(now, gpus));
    expect(unevenness(now, gpus, after)).toBeLessThan(1.005 * least);
  });

  it('fills a new cell, also with models without load', () => {
    expect(new Set(dealParts(parts, [4, 4, 4, 4], before)).size).toBe(4);
    const idle = [part(0, [0]), part(1, [0]), part(2, [0])];
    expect(new Set(dealParts(idle, [1, 1], [0, 0, 0])).size).toBe(2);
  });
});

describe('cutting models that are too much for a cell', () => {
  const measured = (...loads: number[][]) => ({
    intervalNs: 1e9,
    loads: loads.map((load) => Float64Array.from(load)),
    means: Float64Array.from(loads, (load) => load.reduce((sum, one) => sum + one, 0) / load.length),
  });

  it('leaves a model whole that has no more load than a cell', () => {
    const parts = partsOf(measured([4, 4], [4, 4]), [1, 1], { cells: 2, gpus: 16 });
    expect(parts.map(({ model, from, to }) => [model, from, to])).toEqual([
      [0, 0, 1],
      [1, 0, 1],
    ]);
  });

  it('cuts one with more load than a cell has on average into equal parts', () => {
    const parts = partsOf(measured([10, 10], [1, 1], [1, 1]), [3, 1, 1], { cells: 4, gpus: 64 });
    expect(parts.map(({ model, mean }) => [model, mean])).toEqual([
      [0, 2.5],
      [0, 2.5],
      [0, 2.5],
      [0, 2.5],
      [1, 1],
      [2, 1],
    ]);
    expect(parts.slice(0, 4).map(({ from, to }) => [from, to])).toEqual([
      [0, 0.25],
      [0.25, 0.5],
      [0.5, 0.75],
      [0.75, 1],
    ]);
  });

  it('cuts one whose burst needs more than all GPUs of a cell', () => {
    const parts = partsOf(measured([0, 0, 0, 6], [2, 2, 2, 2], [2, 2, 2, 2]), [1, 1, 1], {
      cells: 2,
      gpus: 8,
    });
    expect(parts.filter(({ model }) => model === 0)).toHaveLength(2);
  });
});
