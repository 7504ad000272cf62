import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATUS_OK } from '../../src/core/action.js';
import { ControllerHarness } from './controller-harness.js';

const MS = 1_000_000;

const event = fc.record({
  afterNs: fc.nat(4 * MS),
  arrivals: fc.array(fc.record({ model: fc.nat(3), dueAfterNs: fc.nat(20 * MS), refuse: fc.boolean() }), {
    maxLength: 3,
  }),
  decide: fc.constantFrom('load', 'unload', 'infer', 'infer', 'nothing'),
  pick: fc.nat(),
  /** How many outstanding actions end now, and whether they succeed. */
  results: fc.array(fc.boolean(), { maxLength: 2 }),
});

describe('Controller: whatever the policy does and however actions end', () => {
  it('every request gets exactly one answer, and pages add up', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 50 }), (events) => {
        const harness = new ControllerHarness();
        const { controller, policy } = harness;
        let nowNs = 0;
        let offered = 0;
        for (const { afterNs, arrivals, decide, pick, results } of events) {
          nowNs += afterNs;
          for (const good of results)
            if (harness.sent.length > 0) harness.finish(good ? STATUS_OK : 1, nowNs, nowNs);
          policy.onSchedule = (at) => harness.decide(decide, pick, at);
          policy.plans.push(...arrivals);
          for (const { model } of arrivals) controller.offer(model, nowNs, 10 * MS, offered++);
          controller.step(nowNs);
          expect(controller.requests.size).toBe(offered - harness.answers.length);
          for (const [gpu, pages] of controller.cluster.pages.entries()) {
            const held = [0, 1, 2, 3].filter((model) => controller.cluster.held.has(model, gpu)).length;
            expect(pages.free + held * 2).toBe(6);
          }
        }
        policy.onSchedule = () => {};
        while (harness.sent.length > 0) harness.finish(STATUS_OK, nowNs, nowNs);
        controller.step(nowNs + 20 * MS);
        const ids = harness.answers.map(({ id }) => id).sort((a, b) => a - b);
        expect(ids).toEqual(Array.from({ length: offered }, (_, id) => id));
        expect(controller.requests.size).toBe(0);
        expect(controller.nextWakeNs(nowNs + 20 * MS)).toBe(Number.POSITIVE_INFINITY);
      }),
    );
  });
});
