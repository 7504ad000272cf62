import { expect, it } from 'vitest';
import { joinPasses } from '../../../src/tools/bench/join-passes.js';
import type { MeasuredStages } from '../../../src/tools/bench/measure-stages.js';
import type { ServedStage } from '../../../src/tools/bench/stage.js';
import { service } from './fixtures.js';

function served(stage: ServedStage['stage'], throughputRps: number[], deviceBusy: number): ServedStage {
  return {
    stage,
    throughputRps,
    p50Ms: throughputRps.map(() => 5),
    p99Ms: throughputRps.map(() => 9),
    service: service({ deviceBusy, server: { busy: deviceBusy, cores: 2 * deviceBusy } }),
    otherCores: deviceBusy,
  };
}

function pass(throughputRps: number[], deviceBusy: number, remote: boolean): MeasuredStages {
  return {
    io: served('io', throughputRps, deviceBusy),
    remote: remote ? served('remote', throughputRps, deviceBusy) : null,
    synthetic: { stage: 'synthetic', throughputRps, otherCores: deviceBusy },
    full: served('full', throughputRps, deviceBusy),
  };
}

it('takes all trials, and means by the number of them', () => {
  const { io, remote, synthetic, full } = joinPasses([pass([1, 2, 3], 0.2, true), pass([4], 0.6, true)]);
  expect([io.stage, remote?.stage, full.stage]).toEqual(['io', 'remote', 'full']);
  for (const stage of [io, remote, synthetic, full]) {
    expect(stage?.throughputRps).toEqual([1, 2, 3, 4]);
    expect(stage?.otherCores).toBeCloseTo(0.3, 12);
  }
  expect(io.p50Ms).toEqual([5, 5, 5, 5]);
  expect(full.p99Ms).toHaveLength(4);
  expect(io.service.deviceBusy).toBeCloseTo(0.3, 12);
  expect(io.service.server.busy).toBeCloseTo(0.3, 12);
  expect(io.service.server.cores).toBeCloseTo(0.6, 12);
  expect(io.service.generator).toEqual({ busy: 0.3, cores: 0.3 });
});

it('leaves out what was not measured', () => {
  expect(joinPasses([pass([1], 0.2, false), pass([2], 0.2, false)]).remote).toBeNull();
});
