import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BitMatrix } from '../../../src/base/bit-matrix.js';
import { LoadBars } from '../../../src/core/load-bars.js';
import { Recency } from '../../../src/core/recency.js';
import { LoadOrder } from '../../../src/policies/clockwork/load-order.js';

const MODELS = 9;
const GPUS = 3;

const operation = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'remove', 'hold', 'drop', 'touch'),
  model: fc.nat(MODELS - 1),
  gpu: fc.nat(GPUS - 1),
  // Few values, so that ties are common.
  priority: fc.integer({ min: -3, max: 6 }),
});

/** What a sorted list would say: highest priority that the GPU lacks, then most recently used. */
function bestOf(priorities: Map<number, number>, held: BitMatrix, recency: Recency, gpu: number): number {
  const lacking = [...priorities.keys()].filter((model) => !held.has(model, gpu));
  lacking.sort(
    (a, b) =>
      (priorities.get(b) as number) - (priorities.get(a) as number) ||
      recency.rank(gpu, b) - recency.rank(gpu, a),
  );
  return lacking[0] ?? -1;
}

describe('LoadOrder', () => {
  it('finds for each GPU what sorting would put first among the models that it lacks', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 120 }), (ops) => {
        const held = new BitMatrix(MODELS, GPUS);
        const recency = new Recency(GPUS, MODELS);
        const order = new LoadOrder(MODELS, GPUS, held, recency, new LoadBars(1, 1));
        const priorities = new Map<number, number>();
        for (const { kind, model, gpu, priority } of ops) {
          if (kind === 'set') {
            order.set(model, priority);
            priorities.set(model, priority);
          } else if (kind === 'remove') {
            order.remove(model);
            priorities.delete(model);
          } else if (kind === 'touch') recency.touch(gpu, model);
          else if (kind === 'hold' && held.add(model, gpu)) order.moved(gpu, model, 1);
          else if (kind === 'drop' && held.delete(model, gpu)) order.moved(gpu, model, -1);
          for (let m = 0; m < MODELS; m++) expect(order.has(m)).toBe(priorities.has(m));
          for (let g = 0; g < GPUS; g++) {
            const best = bestOf(priorities, held, recency, g);
            expect(order.best(g)).toBe(best);
            expect(order.wanted(g)).toBe(best >= 0);
          }
        }
      }),
    );
  });
});
