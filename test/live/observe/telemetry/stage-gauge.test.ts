import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Action, INFER, LOAD, STATUS_DEVICE_ERROR, STATUS_OK } from '../../../../src/core/action.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT, RequestTable } from '../../../../src/core/request.js';
import { registerStageGauge } from '../../../../src/live/observe/telemetry/gauges.js';
import { StageAverages } from '../../../../src/live/observe/telemetry/stage-averages.js';
import { model } from '../../../core/fixtures.js';
import { MS } from '../../../sim/fixtures.js';
import { scrape } from './exposition.js';

const S = 1000 * MS;

function infer(model: number, beginNs: number, endNs: number, count = 1): Action {
  const action = new Action(8);
  return Object.assign(action, { kind: INFER, model, status: STATUS_OK, beginNs, endNs, count });
}

/** The averages of `models` models as Prometheus gets them, in ms. */
function exposed(models: number) {
  const averages = new StageAverages(models);
  const registry = new Registry();
  let nowNs = 0;
  const specs = Array.from({ length: models }, (_, m) => model({ name: `model${m}` }));
  registerStageGauge(registry, averages, { models: specs }, () => nowNs);
  const at = async (ns: number) => {
    nowNs = ns;
    const series = await scrape(registry);
    return (model: string, stage: string) => {
      const value = series.get(`escapement_stage_seconds{model="${model}",stage="${stage}"}`);
      return value === undefined ? undefined : Number((value * 1000).toFixed(6));
    };
  };
  return { averages, at };
}

describe('the moving averages of the stages', () => {
  it('tell queueing, copies and execution apart', async () => {
    const { averages, at } = exposed(2);
    const requests = new RequestTable();
    const action = infer(1, 1 * S + 7 * MS, 1 * S + 20 * MS, 2);
    averages.ran(action, { copyInNs: 2 * MS, copyOutNs: 1 * MS });
    for (const [arrivalMs, outcome] of [
      [1000, OUTCOME_OK],
      [1004, OUTCOME_LATE],
    ] as const) {
      const slot = requests.allocate(1, arrivalMs * MS, 50 * MS, 0);
      averages.answered(requests, slot, outcome, 1 * S + 21 * MS, action);
    }
    const value = await at(2 * S);
    expect(['queue', 'copy_in', 'exec', 'copy_out'].map((stage) => value('model1', stage))).toEqual([
      5, 2, 10, 1,
    ]);
    expect(value('model0', 'exec')).toBeUndefined();
  });

  it('leave out what was not executed, and LOADs', async () => {
    const { averages, at } = exposed(1);
    const requests = new RequestTable();
    const slot = requests.allocate(0, 1 * S, 50 * MS, 0);
    averages.answered(requests, slot, OUTCOME_TIMEOUT, 2 * S, null);
    const failed = Object.assign(infer(0, 1 * S, 2 * S), { status: STATUS_DEVICE_ERROR });
    averages.ran(failed, { copyInNs: 0, copyOutNs: 0 });
    averages.ran(Object.assign(infer(0, 1 * S, 2 * S), { kind: LOAD }), { copyInNs: 0, copyOutNs: 0 });
    const value = await at(2 * S);
    expect([value('model0', 'queue'), value('model0', 'exec')]).toEqual([undefined, undefined]);
  });

  it('weigh a batch by its requests', async () => {
    const { averages, at } = exposed(1);
    averages.ran(infer(0, 1 * S, 1 * S + 10 * MS, 1), { copyInNs: 0, copyOutNs: 0 });
    averages.ran(infer(0, 1 * S, 1 * S + 10 * MS, 3), { copyInNs: 4 * MS, copyOutNs: 0 });
    expect((await at(1 * S))('model0', 'copy_in')).toBeCloseTo(3, 5);
  });

  it('fall silent a minute after the last sample', async () => {
    const { averages, at } = exposed(1);
    averages.ran(infer(0, 1 * S, 2 * S), { copyInNs: 0, copyOutNs: 0 });
    expect((await at(61 * S))('model0', 'exec')).toBe(1000);
    expect((await at(63 * S))('model0', 'exec')).toBeUndefined();
  });

  it('share one label where there are many models, by the weight of their samples', async () => {
    const { averages, at } = exposed(1000);
    averages.ran(infer(50, 1 * S, 1 * S + 10 * MS), { copyInNs: 0, copyOutNs: 0 });
    averages.ran(infer(999, 11 * S, 11 * S + 30 * MS), { copyInNs: 0, copyOutNs: 0 });
    const value = await at(12 * S);
    const old = Math.exp(-(10 * S + 20 * MS) / (10 * S));
    expect(value('other', 'exec')).toBeCloseTo((10 * old + 30) / (old + 1), 3);
    expect(value('model49', 'exec')).toBeUndefined();
  });
});
