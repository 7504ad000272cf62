import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { model, models } from '../core/fixtures.js';
import { KINDS, OPTIONS } from './gpu-loss-options.js';
import { MS, PolicyHarness } from './policy-harness.js';

describe.each(KINDS)('%s when a GPU is lost', (policy) => {
  it('runs what the GPU was at elsewhere, as long as its SLO allows', () => {
    const harness = new PolicyHarness({ policy, options: OPTIONS[policy], models: [model()], gpus: 2 });
    harness.controller.gpuUp(0, [0]);
    // Comes later, so that no policy spreads the two requests over both.
    harness.controller.gpuDown(1);
    const first = harness.arrive(0, [0, 0]);
    const sent = first.length > 0 ? first : harness.step(3);
    expect(sent.filter((action) => action.startsWith('INFER'))).toEqual(['INFER model 0 batch 2 on GPU 0']);
    harness.controller.gpuUp(1, [0]);
    harness.lose(0, 4);
    const again = [...harness.step(4), ...harness.step(7)];
    expect(again.filter((action) => action.startsWith('INFER'))).toEqual(['INFER model 0 batch 2 on GPU 1']);
    harness.end(12, 'INFER');
    expect(harness.answers).toEqual(['request 0 ok at 12', 'request 1 ok at 12']);
  });

  it('lets no request wait beyond the SLO while no GPU is there', () => {
    const harness = new PolicyHarness({ policy, options: OPTIONS[policy], models: [model()], gpus: 2 });
    harness.controller.gpuUp(0, [0]);
    harness.arrive(0, [0, 0, 0, 0, 0, 0, 0], 40);
    harness.lose(0, 1);
    harness.lose(1, 1);
    harness.arrive(1, [0], 20);
    expect(harness.controller.nextWakeNs(1 * MS)).toBeLessThanOrEqual(21 * MS);
    for (let nowMs = 2; nowMs <= 40; nowMs++) harness.step(nowMs);
    expect(harness.answers).toHaveLength(8);
    expect(harness.answers[0]).toMatch(/^request 7 timeout/);
    expect(harness.controller.requests.size).toBe(0);
    harness.controller.gpuUp(1, [0]);
    harness.arrive(41, [0], 40);
    harness.settle(42, 82);
    expect(harness.answers.at(-1)).toMatch(/^request 8 ok/);
  });
});

const event = fc.record({
  arrivals: fc.array(fc.nat(4), { maxLength: 4 }),
  what: fc.constantFrom('nothing', 'nothing', 'nothing', 'down', 'up', 'up'),
  gpu: fc.nat(2),
  /** Which of the models that it may still hold a GPU comes back with. */
  keeps: fc.nat(31),
});

const run = fc.record({
  policy: fc.constantFrom(...KINDS),
  oneLane: fc.boolean(),
  admission: fc.constantFrom('none' as const, 'predict' as const),
  sloMs: fc.constantFrom(15, 40, 100),
  events: fc.array(event, { maxLength: 120 }),
});

describe('whatever GPUs go and come', () => {
  it('every request gets exactly one answer, pages add up and no GPU that is gone is asked', () => {
    fc.assert(
      fc.property(run, ({ policy, oneLane, admission, sloMs, events }) => {
        const harness = new PolicyHarness({
          policy,
          options: OPTIONS[policy],
          models: models(5),
          gpus: 3,
          pages: 5,
          sloNs: sloMs * MS,
          oneLane,
          admission,
        });
        const { cluster } = harness.controller;
        const isUp = [true, true, true];
        let offered = 0;
        let nowMs = 0;
        const check = () => {
          expect(harness.outstanding.filter(({ gpu }) => !isUp[gpu])).toEqual([]);
          for (const [gpu, pages] of cluster.pages.entries()) {
            const held = [0, 1, 2, 3, 4].filter((m) => cluster.held.has(m, gpu)).length;
            expect(pages.free + held * 2).toBe(5);
            if (!isUp[gpu]) expect(held).toBe(0);
          }
          expect(harness.controller.requests.size).toBe(offered - harness.answers.length);
        };
        for (const { arrivals, what, gpu, keeps } of events) {
          harness.settle(nowMs, nowMs + 1);
          nowMs += 2;
          if (what === 'down' && isUp[gpu]) {
            harness.lose(gpu, nowMs);
            isUp[gpu] = false;
          } else if (what === 'up' && !isUp[gpu]) {
            const kept = [0, 1, 2, 3, 4].filter((m) => (keeps >> m) % 2 === 1).slice(0, 2);
            harness.controller.gpuUp(gpu, kept);
            isUp[gpu] = true;
          }
          harness.arrive(nowMs, arrivals);
          offered += arrivals.length;
          check();
        }
        for (const gpu of [0, 1, 2]) if (!isUp[gpu]) harness.controller.gpuUp(gpu, []);
        isUp.fill(true);
        harness.settle(nowMs, nowMs + 400);
        check();
        expect(harness.controller.requests.size).toBe(0);
        const ids = harness.answers.map((answer) => Number(answer.split(' ')[1])).sort((a, b) => a - b);
        expect(ids).toEqual(Array.from({ length: offered }, (_, id) => id));
      }),
      { numRuns: 300 },
    );
  });
});
