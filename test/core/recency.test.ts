import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Recency } from '../../src/core/recency.js';

const GPUS = 2;
const MODELS = 24;

function listOf(recency: Recency, gpu: number): number[] {
  const list = recency.list(gpu);
  const models: number[] = [];
  for (let slot = list.oldest; slot >= 0; slot = list.newer(slot)) models.push(list.model(slot));
  return models;
}

const operation = fc.record({
  kind: fc.constantFrom('touch', 'hold', 'remove'),
  gpu: fc.nat(GPUS - 1),
  model: fc.nat(MODELS - 1),
});

describe('Recency', () => {
  it('lists the models of each GPU from least to most recently used', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 150 }), (ops) => {
        const recency = new Recency(GPUS, MODELS);
        const lists: number[][] = [[], []];
        for (const { kind, gpu, model } of ops) {
          const list = lists[gpu];
          const at = list.indexOf(model);
          if (kind === 'remove') {
            recency.remove(gpu, model);
            if (at >= 0) list.splice(at, 1);
          } else {
            recency.touch(gpu, model);
            if (at >= 0) list.splice(at, 1);
            if (at >= 0 || kind === 'hold') list.push(model);
            if (at < 0 && kind === 'hold') recency.insert(gpu, model);
          }
          for (let g = 0; g < GPUS; g++) expect(listOf(recency, g)).toEqual(lists[g]);
        }
      }),
    );
  });

  it('ranks every use above all uses before, on any GPU', () => {
    const use = fc.tuple(fc.nat(GPUS - 1), fc.nat(MODELS - 1));
    fc.assert(
      fc.property(fc.array(use, { maxLength: 40 }), (uses) => {
        const recency = new Recency(GPUS, MODELS);
        let last = GPUS * MODELS - 1;
        for (const [gpu, model] of uses) {
          recency.touch(gpu, model);
          expect(recency.rank(gpu, model)).toBeGreaterThan(last);
          last = recency.rank(gpu, model);
        }
      }),
    );
  });
});
