import { efficiencies } from '../../../../src/tools/bench/scaling/efficiency.js';
import type { ScalingPoint } from '../../../../src/tools/bench/scaling/point.js';
import type { ScalingResult } from '../../../../src/tools/bench/scaling/result.js';
import type { ScalingMode } from '../../../../src/tools/bench/scaling/size.js';
import type { PointTrials, Trial } from '../../../../src/tools/bench/scaling/trial.js';
import { type Circumstances, judgeScaling } from '../../../../src/tools/bench/scaling/verdict.js';

/** A trial of 1000 requests in batches of 10 that take 10 ms each: 1 s of EXEC, half a second on each of two GPUs. */
export function trial(seconds: number, gpus: number, change: Partial<Trial> = {}): Trial {
  return {
    tookNs: seconds * 1e9,
    requests: 1000,
    failed: 0,
    infers: 100,
    loads: 0,
    busyNs: new Array<number>(gpus).fill(1e9 / gpus),
    profileNs: 1e9,
    stepNs: 0.05e9,
    loopBusy: 0.2,
    waitNs: 0,
    cores: 0.5,
    resultDelayP99Ns: 2e6,
    ...change,
  };
}

export function point(gpus: number, trials: readonly Trial[]): PointTrials {
  return { gpus, models: 4, clients: 80, sloNs: 1e9, trials, latenessP99Ns: 0.3e6 };
}

export function pointsOf(measured: readonly PointTrials[]): ScalingPoint[] {
  const compared = efficiencies(measured);
  return measured.map(({ gpus, models, clients, trials }, i) => ({
    gpus,
    models,
    clients,
    requests: trials[0].requests,
    sloMs: 1000,
    ...compared[i],
    trialsS: trials.map(({ tookNs }) => tookNs / 1e9),
  }));
}

export const CIRCUMSTANCES: Circumstances = { cores: 8, onCpu: false, inputBytes: 600_000 };

/** One GPU busy for 98 % of the time, two for 97 %, four for 80 %: the controller is at its limit. */
export function measuredFixture(): PointTrials[] {
  return [
    point(1, [trial(1.0, 1), trial(1.02, 1), trial(1.04, 1)]),
    point(2, [trial(0.51, 2), trial(0.52, 2), trial(0.53, 2)]),
    point(
      4,
      [0.32, 0.33, 0.34].map((seconds) => trial(seconds, 4, { loopBusy: 0.99 })),
    ),
  ];
}

export function resultFixture(modes: readonly ScalingMode[]): ScalingResult {
  const points = pointsOf(measuredFixture());
  return {
    version: '1.2.3',
    name: 'small',
    device: { text: 'emulated GPUs, by profile', kind: 'simulated' },
    cores: 8,
    trials: 3,
    seconds: 0.25,
    inputBytes: 600_000,
    runs: modes.map((mode) => ({ mode, points, verdict: judgeScaling(mode, points, CIRCUMSTANCES) })),
  };
}
