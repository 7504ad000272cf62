import { expect, it } from 'vitest';
import { type MeasuredStage, type StageName, stageOf } from '../../../src/tools/bench/result.js';
import { joinPasses } from '../../../src/tools/bench/stages.js';
import { service } from './fixtures.js';

function pass(throughputRps: number[], deviceBusy: number): MeasuredStage[] {
  const all: StageName[] = ['io', 'synthetic', 'full'];
  return all.map((stage) => ({
    stage,
    throughputRps,
    p50Ms: throughputRps.map(() => 5),
    p99Ms: throughputRps.map(() => 9),
    service:
      stage === 'synthetic'
        ? null
        : service({ deviceBusy, server: { busy: deviceBusy, cores: 2 * deviceBusy } }),
    otherCores: deviceBusy,
  }));
}

it('takes all trials, and means by the number of them', () => {
  const stages = joinPasses([pass([1, 2, 3], 0.2), pass([4], 0.6)]);
  expect(stages.map(({ stage }) => stage)).toEqual(['io', 'synthetic', 'full']);
  for (const { throughputRps, otherCores, p50Ms } of stages) {
    expect(throughputRps).toEqual([1, 2, 3, 4]);
    expect(otherCores).toBeCloseTo(0.3, 12);
    expect(p50Ms).toEqual([5, 5, 5, 5]);
  }
  const io = stageOf(stages, 'io').service;
  expect(io?.deviceBusy).toBeCloseTo(0.3, 12);
  expect(io?.server.busy).toBeCloseTo(0.3, 12);
  expect(io?.server.cores).toBeCloseTo(0.6, 12);
  expect(io?.generator).toEqual({ busy: 0.3, cores: 0.3 });
  expect(stageOf(stages, 'synthetic').service).toBeNull();
});
