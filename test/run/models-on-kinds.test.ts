import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { simulate } from '../../src/run/simulated.js';

const A = {
  gpus: '{ kind: a }',
  models: '{ kind: fit, name: x, parameters: 20M, copies: 3, gpus: [a] }',
  workload: '{ kind: poisson, models: x-*, rate: 400/s, duration: 3s }',
};
const B = {
  gpus: '{ kind: b, count: 2, speed: 0.5 }',
  models: '{ kind: fit, name: y, parameters: 60M, copies: 3, gpus: [b] }',
  workload: '{ kind: poisson, models: y-*, rate: 100/s, duration: 3s }',
};

// The others decide for all GPUs at one time, or after any event.
const POLICIES = ['alpaserve-sr', 'clipper', 'edf', 'edgeserving', 'fifo', 'shepherd', 'symphony'];

it.each(POLICIES)(
  'models that only one kind has are served as by a cluster of their own: %s',
  async (policy) => {
    const figures = async (...parts: (typeof A)[]) => {
      const list = (key: keyof typeof A) => `[${parts.map((part) => part[key]).join(', ')}]`;
      const experiment = await parseExperiment(
        `cluster: { gpus: ${list('gpus')} }
models: ${list('models')}
workload: ${list('workload')}
policy: { kind: ${policy} }
slo: 50ms`,
        'kinds.yaml',
      );
      const { summary } = await simulate(experiment);
      return summary.by.model
        ?.filter(({ key }) => key.startsWith('x'))
        .map(({ key, requests, executedLatencyMs }) => ({ key, requests, executedLatencyMs }));
    };
    const alone = await figures(A);
    expect(alone).toHaveLength(3);
    expect(await figures(A, B)).toEqual(alone);
  },
);
