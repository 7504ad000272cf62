import { NS_PER_MS, NS_PER_S } from '../../../base/units.js';
import type { DeviceSpec } from '../../../live/device.js';
import { deviceText } from '../../../serve/measure-profile.js';
import { plural } from '../../../text/words.js';
import { efficiencies } from './efficiency.js';
import type { ScalingPoint } from './point.js';
import type { ScalingResult, ScalingRun } from './result.js';
import { runWork } from './run-work.js';
import { type ScalingMode, sizeWork, type Work } from './size.js';
import type { ScalingSubject } from './subject.js';
import type { PointTrials } from './trial.js';
import { judgeScaling } from './verdict.js';

interface ScalingOptions {
  readonly modes: readonly ScalingMode[];
  /** Ascending: the first is the base. */
  readonly gpus: readonly number[];
  readonly trials: number;
  readonly seconds: number;
  readonly clients: number | null;
  /** Processors of this machine. */
  readonly cores: number;
  readonly version: string;
  /** Called with the share of the work that is done, and what comes next. */
  onProgress(fraction: number, next: string): void;
}

/**
 * Runs the same models on more and more GPUs, in real time through the live controller in this process, and compares.
 * Throws coded errors of devices and models, and `E_SERVER` where most requests of a trial have no result.
 */
export async function measureScaling(
  subject: ScalingSubject,
  options: ScalingOptions,
): Promise<ScalingResult> {
  const { modes, gpus, trials, seconds, clients, cores, version, onProgress } = options;
  const works = modes.map((mode) => sizeWork(subject, mode, { gpus, seconds, clients }));
  const total = works.flat().reduce((sum, work) => sum + workS(work, trials), 0);
  const inputBytes = subject.models.reduce((sum, { spec }, m) => sum + subject.mix[m] * spec.inputBytes, 0);
  const [device] = subject.devices;
  const runs: ScalingRun[] = [];
  let done = 0;
  for (const [i, mode] of modes.entries()) {
    const measured: PointTrials[] = [];
    for (const work of works[i]) {
      onProgress(done / total, `${mode}, ${plural(work.gpus, 'GPU')}`);
      measured.push(await runWork(work, trials));
      done += workS(work, trials);
    }
    const points = pointsOf(measured);
    runs.push({
      mode,
      points,
      verdict: judgeScaling(mode, points, { cores, onCpu: device.kind === 'cpu', inputBytes }),
    });
  }
  return {
    version,
    name: subject.name,
    device: { text: textOf(device), kind: device.kind },
    cores,
    trials,
    seconds,
    inputBytes,
    runs,
  };
}

/** For a share of the whole: the time of all its requests on its GPUs is in proportion to this. */
function workS({ gpus, requests, warmUpRequests }: Work, trials: number): number {
  return (warmUpRequests + trials * requests) / gpus;
}

function pointsOf(measured: readonly PointTrials[]): ScalingPoint[] {
  const compared = efficiencies(measured);
  return measured.map(({ gpus, models, clients, sloNs, trials }, i) => ({
    gpus,
    models,
    clients,
    requests: trials[0].requests,
    sloMs: sloNs / NS_PER_MS,
    ...compared[i],
    trialsS: trials.map(({ tookNs }) => tookNs / NS_PER_S),
  }));
}

function textOf(device: DeviceSpec): string {
  return device.kind === 'simulated' ? 'emulated GPUs, by profile' : deviceText(device);
}
