import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WeightsTable } from '../../src/core/worker.js';

const MODELS = 3;

describe('WeightsTable', () => {
  it('knows where each model is on its way, and a generation that changes only when weights go', () => {
    const step = fc.record({
      kind: fc.constantFrom('arrive', 'complete', 'drop'),
      model: fc.nat(MODELS - 1),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = new WeightsTable(MODELS);
        const states = Array.from({ length: MODELS }, () => ({ state: 'absent', drops: 0 }));
        for (const { kind, model } of steps) {
          const known = states[model];
          if (kind === 'arrive' && known.state === 'absent') {
            table.arrive(model);
            known.state = 'arriving';
          } else if (kind === 'complete' && known.state === 'arriving') {
            table.complete(model);
            known.state = 'present';
          } else if (kind === 'drop' && known.state !== 'absent') {
            table.drop(model);
            known.state = 'absent';
            known.drops++;
          }
          for (const [m, { state, drops }] of states.entries()) {
            expect(table.isPresent(m)).toBe(state === 'present');
            expect(table.takesPages(m)).toBe(state !== 'absent');
            expect(table.generation(m)).toBe(drops);
          }
        }
      }),
    );
  });
});
