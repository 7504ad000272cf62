import { describe, expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { failureCounts, modelFairness, modelFigures } from '../../src/record/model-figures.js';
import { RunTally } from '../../src/record/run-tally.js';
import { MS, RESNET50, S, tableWith } from './fixtures.js';

/** A run of models `a`, `b`, … with so many requests in time, late, and given up. */
function recorded(counts: readonly (readonly [ok: number, late: number, cold?: number])[]): RunTally {
  const recorder = new RunTally({
    gpus: 1,
    durationNs: 10 * S,
    warmupNs: S,
    models: counts.map((_, i) => ({ ...RESNET50, name: String.fromCharCode(97 + i) })),
    sections: ['workload'],
    sectionStarts: [0],
  });
  counts.forEach(([ok, late, cold = 0], model) => {
    const answer = (outcome: 0 | 1 | 2, copies: number, times: number) => {
      for (let i = 0; i < times; i++)
        recorder.answered(
          tableWith({ arrivalNs: 2 * S, model, arrivalCopies: copies }),
          0,
          outcome,
          3 * S,
          copies,
        );
    };
    answer(OUTCOME_OK, 1, ok);
    answer(OUTCOME_LATE, 1, late);
    answer(OUTCOME_TIMEOUT, 0, cold);
  });
  // What came during the warm-up does not count.
  recorder.answered(tableWith({ arrivalNs: S - MS }), 0, OUTCOME_TIMEOUT, S, 0);
  return recorder;
}

describe('how models fare', () => {
  const recorder = recorded([
    [40, 0],
    [20, 20],
    [6, 10, 4],
    [2, 0, 17],
    [10, 9],
    [0, 0],
  ]);
  const figures = modelFigures(recorder);

  it('has every model that had requests, the worst first, those that cannot be judged last', () => {
    expect(
      figures.map(({ id, name, offered, ok, coldStarts }) => [id, name, offered, ok, coldStarts]),
    ).toEqual([
      [2, 'c', 20, 6, 4],
      [1, 'b', 40, 20, 0],
      [0, 'a', 40, 40, 0],
      [3, 'd', 19, 2, 17],
      [4, 'e', 19, 10, 0],
    ]);
  });

  it('tells the worst of those with 20 requests, and how many are below half and below 90 %', () => {
    expect(modelFairness(figures)).toEqual({
      worstModel: { name: 'c', attainment: 0.3, offered: 20 },
      modelsBelow50: 1,
      modelsBelow90: 2,
      modelsAssessed: 3,
      rareModels: { models: 2, offered: 38, attainment: 12 / 38 },
    });
  });

  it('has no worst model where none can be judged', () => {
    expect(modelFairness(modelFigures(recorded([[0, 19]])))).toEqual({
      worstModel: null,
      modelsBelow50: 0,
      modelsBelow90: 0,
      modelsAssessed: 0,
      rareModels: { models: 1, offered: 19, attainment: 0 },
    });
  });

  it('counts failures by cause, of each model and of all', () => {
    const none = {
      refused: 0,
      timedOutQueued: 0,
      missedWindow: 0,
      deviceError: 0,
      workerLost: 0,
      overRate: 0,
      overShare: 0,
    };
    expect(figures[0].failures).toEqual({ ...none, late: 10, timedOutCold: 4 });
    expect(figures[2].failures).toEqual({ ...none, late: 0, timedOutCold: 0 });
    expect(failureCounts(recorder)).toEqual({ ...none, late: 39, timedOutCold: 21 });
  });
});
