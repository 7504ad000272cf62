import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BitMatrix } from '../../src/base/bit-matrix.js';
import { DemandTracker, StaleList } from '../../src/core/demand.js';

const MS = 1_000_000;
const CAPACITY = 100 * MS;
const GPUS = 3;
const MODELS = 4;

/** The published rules, model by model, with nothing remembered but what they name. */
class PlainDemand {
  readonly exec = new Array<number>(MODELS).fill(0);
  readonly load = new Array<number>(MODELS).fill(0);
  readonly allocations = Array.from({ length: MODELS }, () => new Map<number, number>());
  readonly outstanding = new Array<number>(GPUS).fill(MS);
  readonly weight = new Array<number>(GPUS).fill(0.01);
  readonly changed = new Set<number>();
  readonly holders = Array.from({ length: MODELS }, () => new Set<number>());

  sortedHolders(model: number): number[] {
    return [...this.holders[model]].sort((a, b) => a - b);
  }

  totalWeight(model: number): number {
    return this.sortedHolders(model).reduce((sum, gpu) => sum + this.weight[gpu], 0);
  }

  refresh(): void {
    for (const model of this.changed) {
      for (const [gpu, share] of this.allocations[model]) this.outstanding[gpu] -= share;
      this.allocations[model].clear();
      const total = this.totalWeight(model);
      for (const gpu of this.sortedHolders(model)) {
        const share = Math.floor((this.exec[model] / total) * this.weight[gpu] + 1e-4);
        this.allocations[model].set(gpu, share);
        this.outstanding[gpu] += share;
        this.weight[gpu] = CAPACITY / this.outstanding[gpu];
      }
    }
    this.changed.clear();
  }

  loadPriority(model: number): number {
    const total = this.totalWeight(model);
    let priority = this.load[model];
    if (priority <= 0) return priority;
    for (const gpu of this.sortedHolders(model)) {
      const required = Math.floor((this.load[model] / total) * this.weight[gpu] + 1e-4);
      priority -= Math.floor((CAPACITY * required) / this.outstanding[gpu]);
    }
    return priority;
  }
}

const operation = fc.record({
  kind: fc.constantFrom('arrive', 'arrive', 'serve', 'load', 'evict', 'refresh'),
  model: fc.nat(MODELS - 1),
  gpu: fc.nat(GPUS - 1),
  units: fc.integer({ min: 1, max: 40 * MS }),
});

/** Two ways of writing a product may round a share differently by one unit. */
function near(a: number, b: number, tolerance: number): boolean {
  return Math.abs(a - b) <= tolerance;
}

/** A tracker over an empty cluster, and a way to put a model onto a GPU or take it off. */
function empty(gpus = GPUS) {
  const held = new BitMatrix(MODELS, gpus);
  const demand = new DemandTracker(gpus, MODELS, CAPACITY, held);
  const hold = (model: number, gpu: number) => {
    held.add(model, gpu);
    demand.moved(model);
  };
  const drop = (model: number, gpu: number) => {
    held.delete(model, gpu);
    demand.moved(model);
  };
  return { demand, hold, drop };
}

describe('DemandTracker', () => {
  it('counts a request as its execution time over the time left, in whole units of capacity', () => {
    const { demand } = empty();
    expect(demand.unitsOf(3 * MS, 30 * MS)).toBe(10 * MS);
    expect(demand.unitsOf(2_730_000, 95 * MS)).toBe(Math.floor((2_730_000 * CAPACITY) / (95 * MS)));
  });

  it('spreads demand over the GPUs that hold the model in whole shares by weight, and keeps the books', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (ops) => {
        const { demand, hold, drop } = empty();
        const plain = new PlainDemand();
        for (const { kind, model, gpu, units } of ops) {
          if (kind === 'refresh') {
            demand.refresh();
            plain.refresh();
            for (let g = 0; g < GPUS; g++) {
              expect(near(demand.allocatedTo(g), plain.outstanding[g] - MS, MODELS)).toBe(true);
            }
            for (let m = 0; m < MODELS; m++) {
              expect(demand.hasDemand(m)).toBe(plain.exec[m] > 0 || plain.load[m] > 0);
              // One unit is worth up to CAPACITY / 1 ms of priority.
              expect(near(demand.loadPriority(m), plain.loadPriority(m), 100 * GPUS)).toBe(true);
            }
            continue;
          }
          if (kind === 'load' || kind === 'evict') {
            if (kind === 'load') hold(model, gpu);
            else drop(model, gpu);
            if (kind === 'load') plain.holders[model].add(gpu);
            else plain.holders[model].delete(gpu);
          } else {
            const by = kind === 'arrive' ? units : -Math.min(units, plain.exec[model], plain.load[model]);
            plain.exec[model] += by;
            plain.load[model] += by;
            demand.change(model, by, by);
          }
          plain.changed.add(model);
        }
      }),
    );
  });

  it('allocates all of a model to its only GPU, and takes it back when it is served', () => {
    const { demand, hold } = empty();
    hold(1, 2);
    demand.change(1, 12_345, 6_789);
    demand.refresh();
    expect([0, 1, 2].map((gpu) => demand.allocatedTo(gpu))).toEqual([0, 0, 12_345]);
    demand.change(1, -12_345, -6_789);
    demand.refresh();
    expect(demand.allocatedTo(2)).toBe(0);
    expect(demand.hasDemand(1)).toBe(false);
  });

  it('halves demand between two equal GPUs, and gives a busy GPU less of the next', () => {
    const { demand, hold } = empty(2);
    hold(0, 0);
    hold(0, 1);
    demand.change(0, 10 * MS, 0);
    demand.refresh();
    expect([demand.allocatedTo(0), demand.allocatedTo(1)]).toEqual([5 * MS, 5 * MS]);
    hold(1, 0);
    demand.change(1, 20 * MS, 0);
    demand.refresh();
    hold(2, 0);
    hold(2, 1);
    demand.change(2, 32 * MS, 0);
    demand.refresh();
    // Weights are as 1/26 to 1/6: GPU 0 gets 6/32 of it.
    expect([demand.allocatedTo(0), demand.allocatedTo(1)]).toEqual([31 * MS, 31 * MS]);
  });

  it('allocates nothing of a model that no GPU holds, and wants it loaded for all of its demand', () => {
    const { demand } = empty();
    demand.change(3, 500, 700);
    demand.refresh();
    expect([0, 1, 2].map((gpu) => demand.allocatedTo(gpu))).toEqual([0, 0, 0]);
    expect(demand.loadPriority(3)).toBe(700);
  });

  it('moves an allocation with the model', () => {
    const { demand, hold, drop } = empty();
    hold(0, 0);
    demand.change(0, 1000, 0);
    demand.refresh();
    drop(0, 0);
    hold(0, 1);
    demand.refresh();
    expect([demand.allocatedTo(0), demand.allocatedTo(1)]).toEqual([0, 1000]);
  });

  it('wants no further copy of a model whose GPU can serve it', () => {
    const { demand, hold } = empty();
    hold(0, 0);
    demand.change(0, 3 * MS, 5 * MS);
    demand.refresh();
    // The GPU has 4 ms to do, so in 100 ms it could do 25 times what is asked.
    expect(demand.loadPriority(0)).toBe(5 * MS - 125 * MS);
  });

  it('hands on each changed model once, until the reader empties the list', () => {
    const { demand } = empty();
    for (const model of [2, 0, 2, 2]) demand.change(model, 1, 1);
    demand.refresh();
    demand.refresh();
    expect([demand.stale.length, demand.stale.at(0), demand.stale.at(1)]).toEqual([2, 2, 0]);
  });
});

describe('StaleList', () => {
  it('lists what was added, once, in the order of the first time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(9), { maxLength: 40 }),
        fc.array(fc.nat(9), { maxLength: 10 }),
        (first, second) => {
          const list = new StaleList(10);
          for (const models of [first, second]) {
            for (const model of models) list.add(model);
            const seen = Array.from({ length: list.length }, (_, i) => list.at(i));
            expect(seen).toEqual([...new Set(models)]);
            list.clear();
          }
        },
      ),
    );
  });
});
