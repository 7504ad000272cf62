import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Latencies } from '../../../src/policies/nexus/latencies.js';
import { type PackedGpu, pack } from '../../../src/policies/nexus/packing.js';
import { models } from '../../core/fixtures.js';

const MS = 1_000_000;
/** Every model has 2 pages and takes 3, 5 and 8 ms at batch 1, 2 and 4. */
const MODELS = models(12);
const LATENCIES = new Latencies(MODELS, 4);

/** Sessions as [model, SLO in ms, requests a second] on `gpus` GPUs. */
function packed(sessions: readonly (readonly number[])[], gpus: number, pages = 100): PackedGpu[] {
  return packedInto(sessions, new Array<number>(gpus).fill(pages));
}

function packedInto(sessions: readonly (readonly number[])[], gpuPages: readonly number[]): PackedGpu[] {
  const loads = sessions.map(([model, sloMs, rateRps], session) => ({
    session,
    model,
    sloNs: sloMs * MS,
    ratePerNs: rateRps / 1e9,
  }));
  return pack(loads, { latencies: LATENCIES, gpuPages, modelPages: MODELS.map((model) => model.pages) });
}

/** 'session 0 × 4, session 1 × 2' for each GPU. */
function plan(...args: Parameters<typeof packed>): string[] {
  return packed(...args).map(({ turns }) =>
    turns.map(({ load, batch }) => `session ${load.session} × ${batch}`).join(', '),
  );
}

describe('Latencies', () => {
  it('gathers what arrives in the time that its execution leaves', () => {
    // At 100/s and 40 ms: 3.2 requests in 32 ms; at 20 ms: 1.5 in 15 ms.
    expect(LATENCIES.gathering(0, 40 * MS, 100 / 1e9)).toBe(3);
    expect(LATENCIES.gathering(0, 20 * MS, 100 / 1e9)).toBe(1);
  });
});

describe('pack', () => {
  it('gives a session whole GPUs at its saturating batch, and what is left a duty cycle', () => {
    // 4 requests in 8 ms are 500/s.
    expect(plan([[0, 20, 1100]], 5)).toEqual(['session 0 × 4', 'session 0 × 4', 'session 0 × 1']);
  });

  it('merges sessions into the shorter duty cycle, in which batches shrink', () => {
    // Alone: 3 requests in 30 ms (in size 4), and 1 in 10 ms. In 10 ms: 1 of each, 6 ms busy.
    expect(plan([[0, 40, 100]], 5)).toEqual(['session 0 × 4']);
    expect(
      plan(
        [
          [0, 40, 100],
          [1, 20, 100],
        ],
        5,
      ),
    ).toEqual(['session 1 × 1, session 0 × 1']);
  });

  it('where there are no more GPUs the rest joins the one with the least to do, at the saturating batch', () => {
    const sessions = [
      [0, 20, 490],
      [1, 20, 450],
      [2, 20, 50],
      [3, 20, 50],
      [4, 20, 20],
    ];
    expect(plan(sessions, 2)).toEqual([
      'session 0 × 4, session 3 × 4',
      'session 1 × 4, session 2 × 4, session 4 × 4',
    ]);
  });

  it('keeps to the memory of a GPU, in which sessions of a model count once', () => {
    const different = [
      [0, 100, 1],
      [1, 100, 1],
    ];
    expect(packed(different, 5, 3)).toHaveLength(2);
    expect(plan(different, 1, 3)).toEqual(['session 0 × 1']);
    const same = [
      [0, 100, 1],
      [0, 50, 1],
    ];
    expect(packed(same, 5, 3)).toHaveLength(1);
  });

  it('keeps to the memory of each GPU, where they differ', () => {
    const different = [0, 1, 2, 3].map((model) => [model, 100, 1]);
    const models = packedInto(different, [5, 3, 1]).map(({ turns }) => turns.map(({ load }) => load.model));
    expect(models).toEqual([[0, 1], [2]]);
  });

  it('every session is in time and keeps up where GPUs suffice', () => {
    const session = fc.tuple(fc.nat(11), fc.integer({ min: 7, max: 300 }), fc.integer({ min: 1, max: 1500 }));
    fc.assert(
      fc.property(fc.array(session, { minLength: 1, maxLength: 12 }), (sessions) => {
        const capacityPerNs = sessions.map(() => 0);
        const gpus = packed(sessions, 200, 8);
        expect(gpus.length).toBeLessThan(200);
        for (const { turns } of gpus) {
          expect(new Set(turns.map(({ load }) => load.model)).size).toBeLessThanOrEqual(4);
          const busyNs = turns.reduce((sum, { load, batch }) => sum + LATENCIES.execNs(load.model, batch), 0);
          for (const { load, batch } of turns) {
            expect(busyNs + LATENCIES.execNs(load.model, batch)).toBeLessThanOrEqual(load.sloNs);
            capacityPerNs[load.session] += batch / busyNs;
          }
        }
        for (const [i, [, , rateRps]] of sessions.entries()) {
          expect(capacityPerNs[i] * 1e9).toBeGreaterThanOrEqual(rateRps * (1 - 1e-6));
        }
      }),
      { numRuns: 500 },
    );
  });
});
