import { setTimeout as sleep } from 'node:timers/promises';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import { LocalLink } from '../../live/controller/link/local-link.js';
import type { DeviceSpec } from '../../live/device.js';
import { startMachine } from '../../live/worker/local-machine.js';
import { play } from '../../load/player.js';
import { openServiceTarget } from '../../load/service-target.js';
import { estimate } from '../../report/statistics.js';
import { startCluster } from '../../serve/cluster.js';
import { DeviceProblems } from '../../serve/device-problems.js';
import { deviceText } from '../../serve/measure-profile.js';
import { formatPercent } from '../../text/numbers.js';
import { plural } from '../../text/words.js';
import { UsageMeter } from './child/usage-meter.js';
import { warmUpSeconds } from './clients.js';
import { MixedSource } from './mixed-source.js';
import type {
  Activity,
  Measured,
  ScalingMode,
  ScalingPoint,
  ScalingResult,
  ScalingRun,
} from './scaling-result.js';
import {
  benchSloNs,
  bestBatch,
  clientsOfBatches,
  type ScalingSubject,
  TENSOR_SEED,
  withCopies,
} from './subject.js';
import { TrialWindows } from './trial-windows.js';

interface ScalingOptions {
  readonly modes: readonly ScalingMode[];
  /** Ascending: the first is the base. */
  readonly gpus: readonly number[];
  readonly trials: number;
  readonly seconds: number;
  /** Requests at the same time: all of strong scaling, those of a GPU of weak scaling; null: as many as fill batches. */
  readonly clients: number | null;
  readonly cores: number;
  readonly version: string;
  /** Called with the share of the work that is done, and what comes next. */
  onProgress(fraction: number, next: string): void;
}

/**
 * Runs the same models on more and more GPUs, in real time through the live controller in this process, and compares.
 * Throws coded errors of devices and models, and `E_SERVER` if a trial has no answer.
 */
export async function measureScaling(
  subject: ScalingSubject,
  options: ScalingOptions,
): Promise<ScalingResult> {
  const { modes, gpus, trials, seconds, cores, version, onProgress } = options;
  const [device] = subject.devices;
  const inputBytes = subject.models.reduce((sum, { spec }, m) => sum + subject.mix[m] * spec.inputBytes, 0);
  const runs: ScalingRun[] = [];
  for (const [m, mode] of modes.entries()) {
    const measured: Measured[] = [];
    for (const [i, count] of gpus.entries()) {
      onProgress((m * gpus.length + i) / (modes.length * gpus.length), `${mode}, ${plural(count, 'GPU')}`);
      measured.push(await measure(workOf(subject, mode, count, options), options));
    }
    const points = measured.map((one) => compare(one, measured[0]));
    runs.push({ mode, points, verdict: judge(mode, points) });
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

function textOf(device: DeviceSpec): string {
  return device.kind === 'simulated' ? 'emulated GPUs, by profile' : deviceText(device);
}

interface Work {
  readonly gpus: number;
  readonly subject: ScalingSubject;
  readonly clients: number;
  readonly sloNs: number;
}

/** Each model has a copy for each GPU, so that work can be spread evenly. */
function workOf(subject: ScalingSubject, mode: ScalingMode, gpus: number, options: ScalingOptions): Work {
  const batches = subject.models.map(({ spec }) => bestBatch(spec, subject.settings));
  const [fewest] = options.gpus;
  const copies = mode === 'strong' ? options.gpus[options.gpus.length - 1] : gpus;
  const given = options.clients === null ? null : options.clients * (mode === 'strong' ? 1 : gpus);
  const clients = given ?? clientsOfBatches(subject, batches) * copies;
  // All numbers of GPUs have the SLO of the smallest, whose requests wait longest.
  const clientsOfGpu = Math.ceil(clients / (mode === 'strong' ? fewest : gpus));
  return {
    gpus,
    subject: withCopies(subject, copies),
    clients,
    sloNs: benchSloNs(subject, batches, clientsOfGpu),
  };
}

async function measure(
  { subject, gpus, clients, sloNs }: Work,
  { trials, seconds }: ScalingOptions,
): Promise<Measured> {
  const { settings, mix, models, devices, pages, pageBytes } = subject;
  const machine = await startMachine({ devices: devices.slice(0, gpus), models, pages, pageBytes });
  const cluster = await startCluster(
    { links: [new LocalLink(machine)], policy: settings.policy, sloNs, admission: settings.admission },
    ({ cluster: { spec } }) => {
      const meter = new Meter(gpus, spec.models);
      return { meter: { run: meter, events: meter }, problems: new DeviceProblems() };
    },
  );
  const { meter, problems } = cluster.observers;
  const { clock } = cluster.assembly;
  const fromNs = clock.nowNs() + warmUpSeconds(seconds) * NS_PER_S;
  const lengthNs = trials * seconds * NS_PER_S;
  const windows = new TrialWindows(fromNs, seconds * NS_PER_S, trials);
  const source = new MixedSource({ clients, mix, sloNs, endNs: fromNs + lengthNs });
  const names = models.map(({ spec }) => spec.name);
  const target = openServiceTarget(cluster.controller, { models: names, seed: TENSOR_SEED });
  try {
    const [, activity] = await Promise.all([
      play({ source, clock, target, observer: windows }),
      (async () => {
        await sleep((fromNs - clock.nowNs()) / NS_PER_MS);
        meter.run.begin();
        await sleep((fromNs + lengthNs - clock.nowNs()) / NS_PER_MS);
        return meter.run.end(lengthNs);
      })(),
    ]);
    const results = windows.results();
    if (results === null) {
      const [problem = 'no request was answered'] = problems.messages;
      throw new EscapementError(
        'E_SERVER',
        `a trial of ${seconds} s had no answer (${problem}): on a busy machine, try a longer SLO, e.g. --set slo=20s`,
      );
    }
    return {
      gpus,
      models: models.length,
      clients,
      sloMs: sloNs / NS_PER_MS,
      trialsRps: results.map(({ throughputRps }) => throughputRps),
      activity: { ...activity, failedShare: windows.failedShare },
    };
  } finally {
    await cluster.close();
  }
}

/** What controller and GPUs do from `begin` to `end`. */
class Meter implements RunObserver {
  private readonly usage = new UsageMeter();
  private readonly busyNs: Float64Array;
  private isOn = false;
  private infers = 0;
  private requests = 0;
  private loads = 0;
  private profileNs = 0;
  private stepNs = 0;

  constructor(
    gpus: number,
    private readonly models: readonly ModelSpec[],
  ) {
    this.busyNs = new Float64Array(gpus);
  }

  begin(): void {
    this.usage.take();
    this.isOn = true;
  }

  end(tookNs: number): Omit<Activity, 'failedShare'> {
    this.isOn = false;
    const { busy, cores } = this.usage.take();
    const { length: gpus } = this.busyNs;
    return {
      execMean: this.busyNs.reduce((sum, ns) => sum + ns, 0) / (gpus * tookNs),
      execMin: Math.min(...this.busyNs) / tookNs,
      profileMean: this.profileNs / (gpus * tookNs),
      meanBatch: this.requests / this.infers,
      loads: this.loads,
      loopBusy: busy,
      stepShare: this.stepNs / tookNs,
      cores,
    };
  }

  stepped(_nowNs: number, tookNs: number): void {
    if (this.isOn) this.stepNs += tookNs;
  }

  answered(
    _requests: unknown,
    _slot: number,
    _outcome: unknown,
    _nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    if (this.isOn && action !== null) this.requests++;
  }

  completed({ kind, status, gpu, model, batchIndex, beginNs, endNs }: Action): void {
    if (!this.isOn || status !== STATUS_OK) return;
    if (kind === LOAD) this.loads++;
    if (kind !== INFER) return;
    this.infers++;
    this.busyNs[gpu] += endNs - beginNs;
    this.profileNs += this.models[model].execNs[batchIndex];
  }
}

export function compare(point: Measured, base: Measured): ScalingPoint {
  const [here, there] = [estimate(point.trialsRps), estimate(base.trialsRps)];
  const ratio = here.mean / there.mean;
  const ideal = point.gpus / base.gpus;
  // The base has no error compared with itself.
  const relative = point === base ? 0 : Math.hypot(here.sd / here.mean, there.sd / there.mean);
  const [a, b] = [point.activity, base.activity];
  return {
    ...point,
    throughputRps: here.mean,
    speedUp: { mean: ratio, sd: ratio * relative },
    ideal,
    efficiency: { mean: ratio / ideal, sd: (ratio / ideal) * relative },
    factors: {
      busy: a.execMean / b.execMean,
      batches: (ratio / ideal) * (b.profileMean / a.profileMean),
      device: b.execMean / b.profileMean / (a.execMean / a.profileMean),
    },
  };
}

/** An efficiency that counts as scaling. */
const GOOD = 0.9;

export function judge(mode: ScalingMode, points: readonly ScalingPoint[]): ScalingRun['verdict'] {
  const last = points[points.length - 1];
  const efficiency = last.efficiency.mean;
  const good = points.filter((point) => point.efficiency.mean >= GOOD).map(({ gpus }) => gpus);
  const goodGpus = Math.max(...good);
  const where = goodGpus === last.gpus ? '90 % is kept' : `90 % is kept up to ${goodGpus}`;
  const name = mode === 'strong' ? 'Strong' : 'Weak';
  const title = `${name} scaling: ${formatPercent(efficiency)} efficiency on ${last.gpus} GPUs; ${where}`;
  return { title, efficiency, goodGpus };
}
