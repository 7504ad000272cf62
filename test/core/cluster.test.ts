import { describe, expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { type Action, INFER } from '../../src/core/action.js';
import { Cluster } from '../../src/core/cluster.js';
import { action, model, models } from './fixtures.js';

function failure(make: () => unknown): EscapementError {
  try {
    make();
  } catch (error) {
    expect(error).toBeInstanceOf(EscapementError);
    return error as EscapementError;
  }
  throw new Error('nothing was refused');
}

describe('Cluster', () => {
  it.each([0, -1, 1.5, Number.NaN])('refuses %s GPUs, naming the key', (gpus) => {
    const error = failure(() => new Cluster({ models: models(1), gpus, pages: 10 }));
    expect([error.code, error.place.key]).toEqual(['E_CONFIG_VALUE', 'cluster.gpus']);
    expect(error.message).toContain(`found ${gpus}`);
  });

  it('refuses a model that is larger than the cache of a GPU, and says what to do', () => {
    const large = model({ name: 'gpt', pages: 11 });
    const error = failure(() => new Cluster({ models: [model(), large], gpus: 1, pages: 10 }));
    expect(error.code).toBe('E_MODEL_TOO_LARGE');
    expect(error.message).toBe(
      'cluster.pages: model gpt needs 11 pages and a GPU has 10: raise cluster.pages or leave the model out',
    );
    expect(() => new Cluster({ models: [model({ pages: 10 })], gpus: 1, pages: 10 })).not.toThrow();
  });

  it('learns from measurements of one batch size without touching the others', () => {
    const cluster = new Cluster({ models: models(2), gpus: 1, pages: 10 });
    cluster.measuredExec(ran(1, 1, 6_000_000));
    cluster.measuredLoad(ran(0, 0, 9_000_000));
    expect(cluster.execNs(0, 1, 1)).toBe(5_990_000);
    expect([cluster.execNs(0, 1, 0), cluster.execNs(0, 0, 1)]).toEqual([3_000_000, 5_000_000]);
    expect([cluster.loadNs(0), cluster.loadNs(1)]).toEqual([8_990_000, 8_000_000]);
  });

  it('normalises measurements by the clock of the GPU, and scales estimates to it', () => {
    const cluster = new Cluster({ models: models(1), gpus: 2, pages: 10 });
    // A GPU at half its clock took twice as long: nothing is learnt but the clock.
    cluster.measuredExec(ran(0, 0, 6_000_000, 0.5));
    expect(cluster.nominalExecNs(0, 0)).toBe(3_000_000);
    expect(cluster.execNs(0, 0, 0)).toBe(6_000_000);
    expect(cluster.execNs(0, 0, 1)).toBe(10_000_000);
    expect(cluster.execNs(1, 0, 0)).toBe(3_000_000);
    cluster.measuredExec(ran(0, 0, 3_000_000));
    expect(cluster.execNs(0, 0, 0)).toBe(3_000_000);
  });

  it('forgets what it measured of a model when nothing was measured for a second, if asked to', () => {
    const cluster = new Cluster({ models: models(2), gpus: 1, pages: 10 });
    for (const m of [0, 1]) {
      cluster.measuredExec(ran(m, 0, 90_000_000));
      cluster.measuredLoad(ran(m, 0, 70_000_000));
    }
    expect(cluster.forgetMeasurements(0, 1_069_999_999)).toBe(false);
    expect(cluster.execNs(0, 0, 0)).toBeGreaterThan(80_000_000);
    expect(cluster.forgetMeasurements(0, 1_070_000_000)).toBe(true);
    expect([cluster.execNs(0, 0, 0), cluster.loadNs(0)]).toEqual([3_000_000, 8_000_000]);
    expect(cluster.execNs(0, 1, 0)).toBeGreaterThan(80_000_000);
    // Not for each request that asks.
    expect(cluster.forgetMeasurements(0, 2_069_999_999)).toBe(false);
  });
});

/** A LOAD or INFER on GPU 0 that took so long. */
function ran(modelIndex: number, batchIndex: number, durationNs: number, clock = 1): Action {
  return Object.assign(action(0, INFER, modelIndex), { batchIndex, beginNs: 0, endNs: durationNs, clock });
}
