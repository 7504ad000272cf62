import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { slowModelsWarning, timedModels } from '../../src/serve/slow-models.js';
import { keptLog, serve, simulated, smallModels } from './fixtures.js';

const MS = 1_000_000;

describe('the warning of models that are too slow', () => {
  it('is none where each model and the way to the device fit into the SLO', () => {
    expect(slowModelsWarning([{ name: 'a', execNs: 99 * MS, sloNs: 100 * MS }])).toBeNull();
    expect(slowModelsWarning([{ name: 'a', execNs: 99 * MS + 1, sloNs: 100 * MS }])).not.toBeNull();
  });

  it('names them, and what to do', () => {
    expect(slowModelsWarning([{ name: 'resnet50', execNs: 110.4 * MS, sloNs: 100 * MS }])).toBe(
      'some models take longer on this device than their SLO allows, so none of their requests can be answered in time: ' +
        'resnet50 (takes 110 ms, SLO 100ms). ' +
        'Use a longer SLO (--set slo=230ms, or slo in the config.yaml of a model) or a faster device',
    );
  });

  it('goes by the shortest SLO that the workload of an experiment has for a model', async () => {
    const experiment = await parseExperiment(
      `models: { kind: fit, name: model, parameters: 10M, copies: 3 }
workload:
  - { kind: poisson, rate: 1/s, duration: 1s, models: model-0, slo: 5ms }
  - { kind: poisson, rate: 1/s, duration: 1s, models: [model-0, model-1] }
slo: 50ms
`,
      'exp.yaml',
    );
    expect(timedModels(experiment).map(({ sloNs }) => sloNs)).toEqual([5 * MS, 50 * MS, Infinity]);
  });

  it('is in the log of a server before it is ready', async () => {
    const { log, messages } = keptLog();
    await serve({ devices: simulated(1, 0), models: smallModels(1, 0) }, ['slo=1ms'], { log });
    const said = messages();
    expect(said.findIndex((msg) => /^some models take longer .* model0 /.test(msg))).toBeGreaterThanOrEqual(
      0,
    );
    expect(said.at(-1)).toBe('ready');
  });
});
