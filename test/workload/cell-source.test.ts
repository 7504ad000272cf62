import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CellShare, CellSource } from '../../src/workload/cell-source.js';
import { BlockSource, collect } from './support.js';

/** One request per ns, of the given models; starves after every `block` arrivals as a file would. */
class ListSource extends BlockSource {
  constructor(
    private readonly models: readonly number[],
    block: number,
  ) {
    super(7, 3, block);
    this.show();
  }

  protected override show(): void {
    this.timeNs = this.next < this.models.length ? this.next : Number.POSITIVE_INFINITY;
    this.model = this.models[this.next] ?? 0;
    this.user = this.next % 3;
  }
}

const MODELS = 4;
/** Model 0 is in the first cell, 1 in the second, 2 in both by halves, 3 in both with three quarters in the first. */
const CELLS: readonly CellShare[] = [
  { modelOf: [0, -1, 1, 2], slices: [[0, 1], [0, 1], [0, 0.5], [0, 0.75]] }, // biome-ignore format: a row a cell
  { modelOf: [-1, 0, 1, 2], slices: [[0, 1], [0, 1], [0.5, 1], [0.75, 1]] }, // biome-ignore format: a row a cell
];

const requests = fc.array(fc.integer({ min: 0, max: MODELS - 1 }), { maxLength: 60 });

test('every request goes to exactly one cell, under its index there, whatever the file brings at once', async () => {
  await fc.assert(
    fc.asyncProperty(requests, fc.integer({ min: 1, max: 5 }), async (models, block) => {
      const seen: [number, number][] = [];
      for (const share of CELLS) {
        for (const { timeNs, model, sloNs, user } of await collect(
          new CellSource(new ListSource(models, block), share),
        )) {
          seen.push([timeNs, share.modelOf.indexOf(model)]);
          expect([sloNs, user]).toEqual([7, timeNs % 3]);
        }
      }
      expect(seen.sort(([a], [b]) => a - b)).toEqual(models.map((model, at) => [at, model]));
    }),
  );
});

test('requests of a model in several cells take turns by their shares', async () => {
  const models = Array.from({ length: 1000 }, () => 3);
  const first = await collect(new CellSource(new ListSource(models, 64), CELLS[0]!));
  expect(Math.abs(first.length - 750)).toBeLessThanOrEqual(2);
  // No burst of them stays in one cell.
  const gaps = first.map(({ timeNs }, i) => timeNs - (first[i - 1]?.timeNs ?? timeNs - 1));
  expect(Math.max(...gaps)).toBe(2);
});
