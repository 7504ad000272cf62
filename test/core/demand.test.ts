import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DemandTracker, StaleList } from '../../src/core/demand.js';
import { LiteralDemand } from './literal-demand.js';

const MS = 1_000_000;
const CAPACITY = 100 * MS;
const GPUS = 3;
const MODELS = 4;
const LOAD_SLACK_NS = 25 * MS;

const operation = fc.record({
  kind: fc.constantFrom(
    'arrive',
    'arrive',
    'serve',
    'load',
    'evict',
    'loadNow',
    'evictNow',
    'refresh',
    'refresh',
  ),
  model: fc.nat(MODELS - 1),
  gpu: fc.nat(GPUS - 1),
  units: fc.integer({ min: 1, max: 40 * MS }),
});

function empty(gpus = GPUS) {
  return new DemandTracker(gpus, MODELS, CAPACITY);
}

/** All that can be asked of the books. A model that all GPUs hold has no priority: none can want it. */
function booksOf(books: DemandTracker | LiteralDemand) {
  const isLiteral = books instanceof LiteralDemand;
  return {
    allocated: Array.from({ length: GPUS }, (_, gpu) =>
      isLiteral ? books.outstanding[gpu] - MS : books.allocatedTo(gpu),
    ),
    models: Array.from({ length: MODELS }, (_, model) => {
      const holders = isLiteral ? books.holders[model].size : books.holding.count(model);
      const priority = books.hasDemand(model) && holders < GPUS ? books.loadPriority(model) : null;
      return { hasDemand: books.hasDemand(model), holders, priority };
    }),
  };
}

describe('DemandTracker', () => {
  it('counts a request as its execution time over the time left, in whole units of capacity', () => {
    const demand = empty();
    expect(demand.unitsOf(3 * MS, 30 * MS)).toBe(10 * MS);
    expect(demand.unitsOf(2_730_000, 95 * MS)).toBe(Math.floor((2_730_000 * CAPACITY) / (95 * MS)));
  });

  // Rates that are powers of two leave nothing to rounding.
  it.each([
    ['GPUs that are alike', null],
    ['GPUs of several kinds', (gpu: number, model: number) => 1 / 2 ** ((gpu * (model + 1)) % 3)],
  ])(
    'keeps the books as their description says, over any arrivals, LOADs and evictions, for %s',
    (_, rateOn) => {
      fc.assert(
        fc.property(fc.array(operation, { maxLength: 100 }), (ops) => {
          const demand = new DemandTracker(GPUS, MODELS, CAPACITY, rateOn);
          const literal = new LiteralDemand(GPUS, MODELS, CAPACITY, rateOn ?? undefined);
          const waits = new Array<number>(MODELS).fill(0);
          let nowNs = 0;
          for (const { kind, model, gpu, units } of ops) {
            if (kind === 'arrive') {
              waits[model] += units;
              for (const books of [demand, literal]) books.arrived(model, units, units, LOAD_SLACK_NS);
            } else if (kind === 'serve') {
              const served = Math.min(units, waits[model]);
              waits[model] -= served;
              for (const books of [demand, literal]) books.change(model, -served, -served);
            } else if (kind === 'load' || kind === 'evict') {
              for (const books of [demand, literal]) books.moved(model, gpu, kind === 'load' ? 1 : -1);
            } else if (kind === 'loadNow' || kind === 'evictNow') {
              // Between `refresh` and the next change, as a GPU that looks for a LOAD does it.
              for (const books of [demand, literal]) books.refresh(nowNs);
              for (const books of [demand, literal]) books.moveNow(model, gpu, kind === 'loadNow' ? 1 : -1);
            } else {
              nowNs += units;
              for (const books of [demand, literal]) books.refresh(nowNs);
              expect(booksOf(demand)).toEqual(booksOf(literal));
            }
          }
        }),
        { numRuns: 500 },
      );
    },
  );

  it('wants the same models as its description with a single GPU, whose shares it need not know', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (ops) => {
        const demand = empty(1);
        const literal = new LiteralDemand(1, MODELS, CAPACITY);
        const waits = new Array<number>(MODELS).fill(0);
        let nowNs = 0;
        for (const { kind, model, units } of ops) {
          const served = kind === 'serve' ? Math.min(units, waits[model]) : 0;
          const change = kind === 'arrive' ? units : -served;
          waits[model] += change;
          for (const books of [demand, literal]) {
            if (kind === 'arrive') books.arrived(model, units, units, LOAD_SLACK_NS);
            else if (kind === 'serve') books.change(model, change, change);
            else if (kind === 'load' || kind === 'evict') books.moved(model, 0, kind === 'load' ? 1 : -1);
            books.refresh(nowNs);
            if (kind.endsWith('Now')) books.moveNow(model, 0, kind === 'loadNow' ? 1 : -1);
          }
          nowNs += units;
          for (let m = 0; m < MODELS; m++) {
            expect(demand.hasDemand(m)).toBe(literal.hasDemand(m));
            const isHeld = literal.holders[m].size > 0;
            const wanted = isHeld ? Number.NEGATIVE_INFINITY : literal.loadPriority(m);
            if (demand.hasDemand(m))
              expect(demand.loadPriority(m)).toBe(isHeld || literal.load[m] > 0 ? wanted : 0);
          }
        }
      }),
    );
  });

  it('hands on each changed model once, until the reader empties the list', () => {
    const demand = empty();
    for (const model of [2, 0, 2, 2]) demand.change(model, 1, 1);
    demand.refresh(0);
    demand.refresh(0);
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
