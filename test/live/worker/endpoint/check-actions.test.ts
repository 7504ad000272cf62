import { describe, expect, it } from 'vitest';
import { ABORT } from '../../../../src/core/action.js';
import { actionProblem } from '../../../../src/live/worker/endpoint/check-actions.js';
import { profiled } from '../fixtures.js';

const models = [profiled('model')];
const WORKER = {
  description: {
    gpus: [{ name: 'gpu', provider: 'cpu', pages: 4, oneLane: false }],
    pageBytes: 1000,
    models,
  },
  models,
};
const ACTION = {
  id: 7,
  gpu: 0,
  kind: ABORT as typeof ABORT,
  model: 0,
  batchIndex: 0,
  count: 0,
  earliestNs: 0,
  latestNs: 1,
  inputs: [],
};

describe('actionProblem', () => {
  it('finds nothing wrong with an ABORT, which is for a GPU and no model', () => {
    expect(actionProblem(ACTION, WORKER)).toBe('');
    expect(actionProblem({ ...ACTION, gpu: 1 }, WORKER)).toBe('action 7: there is no GPU 1, only 1');
  });
});
