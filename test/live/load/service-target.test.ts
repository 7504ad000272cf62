import { expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, type Outcome } from '../../../src/core/request.js';
import { openServiceTarget } from '../../../src/live/load/service-target.js';
import type { ServedModel } from '../../../src/live/model.js';
import type { InferenceRequest, InferenceService } from '../../../src/live/service.js';

const MODELS = ['a', 'b'].map(
  (name): ServedModel => ({
    spec: {
      name,
      weightsBytes: 1,
      pages: 1,
      loadNs: 1,
      batchSizes: [1],
      execNs: [1],
      inputBytes: 8,
      outputBytes: 4,
    },
    signature: {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2], bytes: 8 }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [1], bytes: 4 }],
      batched: true,
    },
    version: '1',
    sloNs: null,
  }),
);

class FakeService implements InferenceService {
  readonly ready = true;
  readonly models = MODELS;
  readonly requests: InferenceRequest[] = [];

  modelIndex(name: string): number {
    return MODELS.findIndex(({ spec }) => spec.name === name);
  }

  isAvailable(): boolean {
    return true;
  }

  setAvailable(): void {}

  infer(request: InferenceRequest): void {
    this.requests.push(request);
  }

  answer(outcome: Outcome): void {
    const answer = { outcome, outputs: [], predictedNs: 0, batchSize: 0, error: '' };
    this.requests.shift()?.done(answer);
  }
}

it('sends to a service in this process by the names of the run', () => {
  const service = new FakeService();
  const target = openServiceTarget(service, { models: ['b', 'a'], seed: 1 });
  const outcomes: Outcome[] = [];
  target.send(0, 25e6, 7, (outcome) => outcomes.push(outcome));
  expect(service.requests[0]).toMatchObject({ model: 1, user: 7, sloNs: 25e6 });
  expect(service.requests[0].inputs.map(({ length }) => length)).toEqual([8]);
  service.answer(OUTCOME_LATE);
  target.send(1, 25e6, 0, (outcome) => outcomes.push(outcome));
  expect(service.requests[0].model).toBe(0);
  service.answer(OUTCOME_REJECTED);
  // Whether an executed request was late is for its sender to say.
  expect(outcomes).toEqual([OUTCOME_OK, OUTCOME_REJECTED]);
});

it('refuses a model that the service lacks', () => {
  const open = () => openServiceTarget(new FakeService(), { models: ['c'], seed: 1 });
  expect(open).toThrow('no model c; it has a, b');
});
