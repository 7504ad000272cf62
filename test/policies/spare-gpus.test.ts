import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { models } from '../core/fixtures.js';
import { KINDS, OPTIONS } from './gpu-loss-options.js';
import { MS, PolicyHarness } from './policy-harness.js';

const GPUS = 3;
const SPARE = 4;

const event = fc.record({
  arrivals: fc.array(fc.nat(23), { maxLength: 5 }),
  what: fc.constantFrom('nothing', 'nothing', 'nothing', 'nothing', 'down', 'up'),
  gpu: fc.nat(GPUS - 1),
});
const drawnRun = fc.record({
  /** So few that all GPUs may hold all of them, and so many that they are not all ranked. */
  modelCount: fc.constantFrom(2, 5, 24),
  pages: fc.constantFrom(5, 50),
  oneLane: fc.boolean(),
  admission: fc.constantFrom('none' as const, 'predict' as const),
  sloMs: fc.constantFrom(15, 40, 100),
  events: fc.array(event, { minLength: 20, maxLength: 100 }),
});
type Drawn = typeof drawnRun extends fc.Arbitrary<infer T> ? T : never;

/** Plays the same on some GPUs of a cluster; returns all that was sent, GPUs counted from the first of those. */
function play(policy: (typeof KINDS)[number], drawn: Drawn, gpus: number, spareGpus: number, first: number) {
  const { modelCount, pages, oneLane, admission, sloMs, events } = drawn;
  const harness = new PolicyHarness({
    ...{ policy, options: OPTIONS[policy], models: models(modelCount), gpus, spareGpus, pages },
    ...{ sloNs: sloMs * MS, oneLane, admission },
  });
  for (let gpu = 0; gpu < first; gpu++) harness.controller.gpuDown(gpu);
  const isUp = new Array<boolean>(GPUS).fill(true);
  const sent: string[] = [];
  let nowMs = 0;
  for (const { arrivals, what, gpu } of events) {
    if (what === 'down' && isUp[gpu]) harness.lose(first + gpu, nowMs);
    if (what === 'up' && !isUp[gpu]) harness.controller.gpuUp(first + gpu, [gpu % modelCount]);
    if (what !== 'nothing') isUp[gpu] = what === 'up';
    sent.push(
      ...harness.arrive(
        nowMs,
        arrivals.map((model) => model % modelCount),
      ),
    );
    nowMs++;
    harness.settle(nowMs, nowMs + 1);
    sent.push(...harness.log);
    nowMs += 2;
  }
  const renumbered = sent.map((action) => action.replace(/\d+$/, (gpu) => String(Number(gpu) - first)));
  return { sent: renumbered, answers: harness.answers, digest: harness.controller.digest };
}

describe.each(KINDS)('%s with GPUs that are not there', (policy) => {
  it('decides as in a cluster that ends before them', () => {
    fc.assert(
      fc.property(drawnRun, (drawn) => {
        expect(play(policy, drawn, GPUS, SPARE, 0)).toEqual(play(policy, drawn, GPUS, 0, 0));
      }),
      { numRuns: 60 },
    );
  });

  it('decides as in a cluster without those that went before it began', () => {
    fc.assert(
      fc.property(drawnRun, (drawn) => {
        const { sent, answers } = play(policy, drawn, SPARE + GPUS, 0, SPARE);
        const expected = play(policy, drawn, GPUS, 0, 0);
        expect({ sent, answers }).toEqual({ sent: expected.sent, answers: expected.answers });
      }),
      { numRuns: 60 },
    );
  });
});
