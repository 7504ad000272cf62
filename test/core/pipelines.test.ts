import { expect, it } from 'vitest';
import { STATUS_OK } from '../../src/core/action.js';
import { MOST_FAN_OUT } from '../../src/core/pipelines.js';
import { OUTCOME_ERROR, OUTCOME_OK, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { ControllerHarness } from './controller-harness.js';
import { model } from './fixtures.js';

const step = (of: number, after: readonly number[] = []) => {
  return { id: `s${of}${after}`, model: of, after, least: 0, mean: 1, budget: 1 };
};

const offer = ({ controller }: ControllerHarness, nowNs: number, ...counts: number[]) =>
  controller.offerPipeline(0, nowNs, 50_000_000, 0, 0, 0, Int32Array.from(counts));

it('serves no pipeline whose model left, nor with the model that has its slot now', () => {
  const harness = new ControllerHarness();
  const { controller, answers } = harness;
  const pipeline = { name: 'chain', split: 'slack', steps: [step(1)] } as const;
  controller.putPipeline(0, pipeline);
  controller.step(0);
  expect(controller.isServingPipeline(0)).toBe(true);
  controller.retireModel(1);
  controller.step(1);
  expect(controller.isServingPipeline(0)).toBe(false);
  controller.putModel(1, model({ name: 'other' }));
  controller.step(2);
  expect(controller.isServing(1)).toBe(true);
  expect(controller.isServingPipeline(0)).toBe(false);
  offer(harness, 3, 1);
  controller.step(3);
  expect(answers).toMatchObject([{ id: 0, outcome: OUTCOME_REJECTED }]);
  controller.putPipeline(0, pipeline);
  expect(controller.isServingPipeline(0)).toBe(true);
});

it.each([
  [0, OUTCOME_OK],
  [3, OUTCOME_OK],
  [MOST_FAN_OUT + 1, OUTCOME_ERROR],
  [-1, OUTCOME_ERROR],
])('takes %d requests of a step when the step before has ended', (count, outcome) => {
  const harness = new ControllerHarness();
  const { controller, answers, policy } = harness;
  controller.putPipeline(0, { name: 'chain', split: 'equal', steps: [step(0), step(0, [0])] });
  controller.gpuUp(0, [0]);
  policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
  offer(harness, 0, 1, 0);
  controller.step(0);
  controller.setCount(harness.sent[0].requests[0], 1, count);
  harness.finish(STATUS_OK, 0, 1_000_000);
  controller.step(1_000_000);
  expect(harness.sent.map((action) => action.count)).toEqual(count === 3 ? [3] : []);
  if (count === 3) harness.finish(STATUS_OK, 1_000_000, 2_000_000);
  controller.step(2_000_000);
  expect(answers).toMatchObject([{ id: 0, outcome }]);
});

it('goes on with a request after one slow INFER of the next model, though others of it keep being measured', () => {
  const harness = new ControllerHarness();
  const { controller, answers, policy } = harness;
  controller.putPipeline(0, { name: 'chain', split: 'slack', steps: [step(0), step(0, [0])] });
  controller.gpuUp(0, [0]);
  policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
  offer(harness, 0, 1, 1);
  controller.step(0);
  harness.finish(STATUS_OK, 0, 60_000_000);
  offer(harness, 60_000_000, 2, 1);
  controller.step(60_000_000);
  harness.finish(STATUS_OK, 60_000_000, 65_000_000);
  controller.step(65_000_000);
  expect(answers).toMatchObject([{ id: 0, outcome: OUTCOME_TIMEOUT }]);
  expect(harness.sent).toMatchObject([{ batchSize: 1 }]);
});

it('withdraws no request that comes to the slot of one that was to be withdrawn', () => {
  const harness = new ControllerHarness();
  const { controller, answers, policy } = harness;
  controller.putPipeline(0, { name: 'fork', split: 'equal', steps: [step(0), step(1)] });
  policy.dueAfterNs = 10;
  offer(harness, 0, 1, 1);
  controller.step(0);
  for (let i = 0; i < 3; i++) offer(harness, 10, 1, 1);
  // The first step fails the request. The other, to be withdrawn next, times out as well, and new ones take its slot.
  controller.step(10);
  controller.step(11);
  expect(answers).toMatchObject([{ id: 0, outcome: OUTCOME_TIMEOUT }]);
});

it('serves pipelines on when there are more models', () => {
  const harness = new ControllerHarness();
  const { controller, answers } = harness;
  controller.putPipeline(0, { name: 'chain', split: 'equal', steps: [step(0), step(0, [0])] });
  controller.gpuUp(0, [0]);
  offer(harness, 0, 1, 1);
  controller.grow(2 * controller.cluster.models.length);
  controller.step(0);
  harness.policy.onSchedule = (nowNs) => harness.inferAll(nowNs);
  offer(harness, 1, 1, 1);
  for (let nowNs = 1; nowNs < 6; nowNs++) {
    controller.step(nowNs);
    if (harness.sent.length > 0) harness.finish(STATUS_OK, nowNs, nowNs + 1);
  }
  const outcome = OUTCOME_OK;
  expect(answers).toMatchObject([{ outcome }, { outcome }]);
});
