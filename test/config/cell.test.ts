import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { simulate } from '../../src/run/simulated.js';
import { rejection } from './failure.js';

const WHOLE = `seed: 1
cluster: { gpus: 6, workers: 3, pages: 200, gpuClock: [{ at: 1s, gpu: 3, factor: 0.5 }, { at: 2s, factor: 0.9 }] }
models: { kind: fit, name: model, parameters: 25.6M, copies: 4 }
workload: { kind: poisson, load: 50%, duration: 2s }
slo: 100ms
policy: { kind: clockwork }
`;

const load = (...overrides: string[]) => parseExperiment(WHOLE, 'run.yaml', overrides);

describe('an experiment of one cell', () => {
  it('has its own GPUs, workers and models, and of the traffic of the whole cluster its part', async () => {
    const whole = await load();
    const cell = await load('cell={ gpus: 2:4, models: [model-3, model-1] }');
    expect(cell.cluster).toMatchObject({
      ...{ gpus: 2, workers: 1 },
      gpuClock: [
        { atNs: 1e9, gpu: 1, factor: 0.5 },
        { atNs: 2e9, gpu: -1, factor: 0.9 },
      ],
    });
    expect(cell.models.map(({ name }) => name)).toEqual(['model-1', 'model-3']);
    expect(cell.workloads).toEqual(whole.workloads);
    const all = (await simulate(whole)).models;
    const own = (await simulate(cell)).models;
    expect(own.map(({ name }) => name).sort()).toEqual(['model-1', 'model-3']);
    for (const { name, offered } of own) {
      expect(offered).toBe(all.find((other) => other.name === name)!.offered);
    }
  });

  it('shares the requests of a model with other cells', async () => {
    const offered = async (slice: string) => {
      const cell = await load(`cell={ gpus: 0:3, models: [model-2], requests: { model-2: ${slice} } }`);
      return (await simulate(cell)).summary.requests.offered;
    };
    const [all, third, rest] = await Promise.all(['[0, 1]', '[0, 0.25]', '[0.25, 1]'].map(offered));
    expect(third! + rest!).toBe(all);
    expect(Math.abs(third! - all! / 4)).toBeLessThan(3);
  });

  it.each([
    ['{ gpus: 4:8, models: [model-0] }', 'cell={', 'the cluster has 6 GPUs; found 4:8'],
    ['{ gpus: 4:4, models: [model-0] }', 'gpus', 'must be GPUs from:to such as 8:16'],
    ['{ gpus: 0:2, models: [model-9] }', 'models', 'no model is named model-9'],
    ['{ gpus: 0:2, models: [model-0, model-0] }', 'models', 'model-0 is named twice'],
    [
      '{ gpus: 0:2, models: [model-0], requests: { model-1: [0, 1] } }',
      'requests',
      "model-1 is none of the cell's models",
    ],
    [
      '{ gpus: 0:2, models: [model-0], requests: { model-0: [0.5, 0.5] } }',
      'requests',
      'must be a slice [from, to]',
    ],
  ])('refuses %s', async (cell, place, what) => {
    const { message } = await rejection(load(`cell=${cell}`));
    expect(message).toContain(what);
    expect(message).toContain(place);
  });

  it('refuses clients that wait for answers', async () => {
    const { message } = await rejection(
      load(
        'cell={ gpus: 0:2, models: [model-0] }',
        'workload={ kind: closed-loop, clients: 2, duration: 1s }',
      ),
    );
    expect(message).toContain('closed-loop clients ask when they are answered');
  });
});
