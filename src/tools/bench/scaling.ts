import { setTimeout as sleep } from 'node:timers/promises';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { formatBytes } from '../../config/units-text.js';
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
import { formatCount, formatFactor, formatSlo } from '../../text/numbers.js';
import { alignColumns } from '../../text/table.js';
import { plural } from '../../text/words.js';
import { wrap } from '../../text/wrap.js';
import { MixedSource } from './mixed-source.js';
import { warmUpSeconds } from './stages.js';
import {
  benchSloNs,
  bestBatch,
  clientsOfBatches,
  type ScalingSubject,
  TENSOR_SEED,
  withCopies,
} from './subject.js';
import { rateText, shareText } from './text.js';
import { TrialWindows } from './trial-windows.js';
import { UsageMeter } from './usage-meter.js';

/** `strong`: models and clients do not depend on the number of GPUs; `weak`: they grow with it. */
type ScalingMode = 'strong' | 'weak';

/** Complete result of a scaling benchmark, as printed by `--json`. */
export interface ScalingResult {
  /** Version of escapement. */
  readonly version: string;
  readonly name: string;
  /** `kind`: a provider of onnxruntime, or `simulated`: the GPUs are emulated. */
  readonly device: { readonly text: string; readonly kind: string };
  /** Number of processors of this machine. */
  readonly cores: number;
  readonly trials: number;
  /** Length of a trial. */
  readonly seconds: number;
  /** Mean size of a request. */
  readonly inputBytes: number;
  readonly runs: readonly ScalingRun[];
}

/** One mode over all numbers of GPUs, ascending: the first is the base. */
interface ScalingRun {
  readonly mode: ScalingMode;
  readonly points: readonly ScalingPoint[];
}

interface Measured {
  readonly gpus: number;
  readonly models: number;
  readonly clients: number;
  readonly sloMs: number;
  /** Throughput of each trial. */
  readonly trialsRps: readonly number[];
  readonly activity: Activity;
}

export interface ScalingPoint extends Measured {
  readonly throughputRps: number;
  /**
   * Requests per second and GPU relative to the base, with the standard deviation: about the product of the factors.
   */
  readonly efficiency: { readonly mean: number; readonly sd: number };
  /**
   * Relative to the base: how busy the GPUs are, how little time a request takes in the batches used, by the profile,
   * and how fast INFERs are compared with the profile.
   */
  readonly factors: { readonly busy: number; readonly batches: number; readonly device: number };
}

/** Mean activity over the trials. */
interface Activity {
  /** Share of the time in which EXEC lanes were busy: of all GPUs, and of the least busy. */
  readonly execMean: number;
  readonly execMin: number;
  /** Duration of a GPU's INFERs by the models' profiles, as a share of the time. */
  readonly profileMean: number;
  /** Mean number of requests per INFER. */
  readonly meanBatch: number;
  readonly loads: number;
  /** Share of the requests without a result. */
  readonly failedShare: number;
  /** Share of the time in which the event loop of the controller's thread, shared with the clients, was busy. */
  readonly loopBusy: number;
  /** Share of the time taken by the core's decisions. */
  readonly stepShare: number;
  /** Number of processors that the process used. */
  readonly cores: number;
}

interface ScalingOptions {
  readonly modes: readonly ScalingMode[];
  /** Ascending: the first is the base. */
  readonly gpus: readonly number[];
  readonly trials: number;
  readonly seconds: number;
  /** Concurrent requests: all for strong scaling, per GPU for weak scaling; null: enough to fill batches. */
  readonly clients: number | null;
  readonly cores: number;
  readonly version: string;
  /** Called with the finished share of the work, and the next step. */
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
    runs.push({ mode, points });
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

/** One copy of each model per GPU, so that work can be spread evenly. */
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
      trialsRps: results.throughputRps,
      activity: { ...activity, failedShare: windows.failedShare },
    };
  } finally {
    await cluster.close();
  }
}

/** Measures controller and GPUs from `begin` to `end`. */
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
  const efficiency = here.mean / there.mean / (point.gpus / base.gpus);
  // The base has no error relative to itself.
  const relative = point === base ? 0 : Math.hypot(here.sd / here.mean, there.sd / there.mean);
  const [a, b] = [point.activity, base.activity];
  return {
    ...point,
    throughputRps: here.mean,
    efficiency: { mean: efficiency, sd: efficiency * relative },
    factors: {
      busy: a.execMean / b.execMean,
      batches: efficiency * (b.profileMean / a.profileMean),
      device: b.execMean / b.profileMean / (a.execMean / a.profileMean),
    },
  };
}

const LEGEND =
  'efficiency: requests/s per GPU, relative to the fewest GPUs, ± standard deviation; it is about busy × batches × device: how busy the GPUs are, how well batches use them by the profile, how fast INFERs are compared with it. EXEC: how busy the GPUs are on average / the least busy one; thread: how busy the thread of controller and clients is / with scheduling steps';

/** A scaling benchmark for the terminal: texts in lines of at most `columns`. */
export function scalingText(result: ScalingResult, columns: number): string {
  const { name, device, cores, inputBytes, trials, seconds, runs } = result;
  const about = [
    `${name} on ${device.text}; controller and clients in one process of a machine with ${plural(cores, 'core')}`,
    `${inputBytes === 0 ? 'no tensors' : `${formatBytes(Math.round(inputBytes))} a request`}; warm-up, then ${plural(trials, 'trial')} of ${seconds} s`,
  ];
  const body = runs.flatMap((run) => ['', ...runLines(run, result, columns)]);
  const lines = [...about.flatMap((line) => wrap(line, columns)), ...body, '', ...wrap(LEGEND, columns)];
  return lines.map((line) => `${line}\n`).join('');
}

function runLines(run: ScalingRun, result: ScalingResult, columns: number): string[] {
  const { mode, points } = run;
  const [{ models, clients, sloMs, gpus }] = points;
  const each = mode === 'strong' ? 'in all' : gpus === 1 ? 'for each GPU' : `for each ${gpus} GPUs`;
  const work = `${mode} scaling: ${plural(models, 'model')} and ${formatCount(clients)} clients ${each}, SLO ${formatSlo(Math.round(sloMs))}`;
  return [
    ...wrap(work, columns),
    '',
    ...alignColumns([HEADER, ...points.map(row)], []),
    ...notes(run, result).flatMap((text) => wrap(`note: ${text}`, columns)),
  ];
}

const HEADER = ['GPUs', 'requests/s', 'efficiency', 'busy', 'batches', 'device', 'EXEC', 'batch', 'thread'];

function row({ gpus, throughputRps, efficiency, factors, activity }: ScalingPoint): string[] {
  const { mean, sd } = efficiency;
  const spread = sd === 0 ? '' : ` ± ${(100 * sd).toFixed(sd < 0.0095 ? 1 : 0)}`;
  return [
    String(gpus),
    rateText(throughputRps),
    `${shareText(mean)}${spread}`,
    ...[factors.busy, factors.batches, factors.device].map(formatFactor),
    pair(activity.execMean, activity.execMin),
    activity.meanBatch.toFixed(1),
    pair(activity.loopBusy, activity.stepShare),
  ];
}

/** Formats `97/95 %`. */
function pair(one: number, other: number): string {
  return `${Math.round(100 * one)}/${Math.round(100 * other)} %`;
}

/** A larger share of the requests is worth a note. */
const FEW = 0.001;
/** A base whose GPUs are less busy has losses of its own. */
const BUSY = 0.9;

/** Notes needed to interpret the figures. */
function notes({ points }: ScalingRun, { device, cores }: ScalingResult): string[] {
  const base = points[0].activity.execMean;
  const most = Math.max(...points.map(({ activity }) => activity.failedShare));
  return [
    ...(base < BUSY ? [`the base is busy for only ${shareText(base)}: it loses something itself`] : []),
    ...(device.kind === 'cpu' ? [`these GPUs share the ${cores} cores of this machine`] : []),
    ...(most > FEW ? [`up to ${shareText(most)} of the requests had no result`] : []),
  ];
}
