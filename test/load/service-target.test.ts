import { expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, type Outcome } from '../../src/core/request.js';
import { openServiceTarget } from '../../src/load/service-target.js';
import { echoModel, FakeService } from '../live/frontend/fake-service.js';

const openService = () => {
  const service = new FakeService(['a', 'b'].map((name) => echoModel(name, true, [['x', 'FP32', [2]]])));
  service.answer = null;
  return service;
};

it('sends to a service in this process by the names of the run', () => {
  const service = openService();
  const target = openServiceTarget(service, { models: ['b', 'a'], seed: 1 });
  const outcomes: Outcome[] = [];
  for (const [model, user] of [
    [0, 7],
    [1, 8],
  ]) {
    target.send({ model, sloNs: 25e6, user, arrivalNs: 1000 + user }, (outcome) => outcomes.push(outcome));
  }
  expect(service.requests).toMatchObject([
    { model: 1, user: 7, sloNs: 25e6, arrivalNs: 1007 },
    { model: 0, user: 8, sloNs: 25e6, arrivalNs: 1008 },
  ]);
  expect(service.requests[0].inputs.map(({ length }) => length)).toEqual([8]);
  const answer = { outputs: [], predictedNs: 0, batchSize: 0, error: '' };
  service.requests[0].done({ ...answer, outcome: OUTCOME_LATE });
  service.requests[1].done({ ...answer, outcome: OUTCOME_REJECTED });
  // Whether an executed request was late is for its sender to say.
  expect(outcomes).toEqual([OUTCOME_OK, OUTCOME_REJECTED]);
});

it('refuses a model that the service lacks', () => {
  const open = () => openServiceTarget(openService(), { models: ['c'], seed: 1 });
  expect(open).toThrow('no model c; it has a, b');
});
