import { setTimeout as sleep } from 'node:timers/promises';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { ArrivalSource } from '../../core/arrivals.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import { atLongest } from '../../live/lengths.js';
import { openTarget } from '../../load/open-target.js';
import { play } from '../../load/player.js';
import type { AnswerCount } from '../../record/results.js';
import { BenchChild, type Role } from './child-process.js';
import { figure, type Protocol, type Service, STAGES, type StageName, type StageSummary } from './result.js';
import { benchSloNs, chosenBatches, machineOf, type Subject, TENSOR_SEED } from './subject.js';
import { TrialWindows } from './trial-windows.js';
import { UsageMeter } from './usage-meter.js';

export interface MeasureOptions {
  readonly protocol: Protocol;
  readonly clients: number;
  readonly trials: number;
  /** Length of a trial. */
  readonly seconds: number;
}

/** Measures stages of a subject, one after the other, never two at a time. */
export async function measureStages(
  subject: Subject,
  stages: readonly StageName[],
  options: MeasureOptions,
  onStage: (stage: StageName) => void,
): Promise<StageSummary[]> {
  const server = (instant: boolean) =>
    ({ kind: 'server', gpu: machineOf(subject, instant), settings: subject.settings }) as const;
  const measured: StageSummary[] = [];
  for (const stage of stages) {
    onStage(stage);
    measured.push(
      await (stage === 'synthetic'
        ? withChild(deviceRole(subject), (child) => measureDevice(child, options))
        : // IO: the frontend, decoding of tensors, the scheduler, and the transport to a device that takes no time.
          withChild(server(stage === 'io'), (child) => loadServer(stage, child, subject, options))),
    );
  }
  return measured;
}

async function withChild<T>(role: Role, work: (child: BenchChild) => Promise<T>): Promise<T> {
  const child = await BenchChild.start(role);
  try {
    return await work(child);
  } finally {
    await child.stop();
  }
}

/** The first device of the subject, without a server. */
function deviceRole(subject: Subject): Role {
  const { devices, models } = subject;
  const batches = chosenBatches(subject);
  const used = models.map(({ spec: { name, batchSizes }, signature, ortPath }, m) => ({
    name,
    ortPath: ortPath as string,
    signature: atLongest(signature),
    batchSize: batchSizes[batches[m]],
  }));
  return { kind: 'device', device: devices[0] as OrtDeviceSpec, models: used };
}

async function measureDevice(child: BenchChild, { trials, seconds }: MeasureOptions): Promise<StageSummary> {
  await child.trial(warmUpSeconds(seconds));
  const throughputRps: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const { requests, tookNs } = await child.trial(seconds);
    throughputRps.push((requests * NS_PER_S) / tookNs);
  }
  return {
    stage: 'synthetic',
    throughputRps: figure(throughputRps),
    p50Ms: null,
    p99Ms: null,
    service: null,
  };
}

/** Models are loaded before the first trial. */
const LEAST_WARM_UP_S = 1;
/** A new server gets faster, by up to half, for about 3 s, until its code is compiled. */
const MOST_WARM_UP_S = 4;

/** Time that clients run before the first trial. */
function warmUpSeconds(seconds: number): number {
  return Math.min(MOST_WARM_UP_S, Math.max(LEAST_WARM_UP_S, 2 * seconds));
}

/** Extra time allowed for all trials together on a machine that stalls. */
const STALL_S = 10;

/**
 * Saturates a server: each client sends its next request when the last is answered. Throws `E_SERVER` if there are too
 * few answers to end the trials, or if the server is killed.
 */
export async function loadServer(
  stage: StageName,
  child: BenchChild,
  subject: Subject,
  { protocol, clients, trials, seconds }: MeasureOptions,
): Promise<StageSummary> {
  const { models } = subject;
  const warmUpNs = warmUpSeconds(seconds) * NS_PER_S;
  const windows = new TrialWindows(warmUpNs, seconds * NS_PER_S, trials);
  const limitMs = (warmUpNs + (trials * seconds + STALL_S) * NS_PER_S) / NS_PER_MS;
  const target = await openTarget(`${protocol}://127.0.0.1:${child.ports[protocol]}`, {
    models: models.map(({ spec }) => spec.name),
    seed: TENSOR_SEED,
    ...(protocol === 'http' ? { connections: clients } : {}),
  });
  const sloNs = benchSloNs(subject, chosenBatches(subject), clients);
  const source = new MixedSource(clients, models.length, sloNs);
  const playing = play({ source, target, observer: windows });
  try {
    const over = Promise.race([windows.over, pause(limitMs)]);
    const service = await Promise.race([
      measureService(child, subject.devices.length, warmUpNs, over),
      child.death,
    ]);
    source.end();
    const { answers } = await Promise.race([playing, child.death]);
    const results = windows.results();
    if (results === null) throw noAnswers(STAGES[stage], windows.outcomes, limitMs, answers);
    const { throughputRps, p50Ms, p99Ms } = results;
    const figures = { throughputRps: figure(throughputRps), p50Ms: figure(p50Ms), p99Ms: figure(p99Ms) };
    return { stage, ...figures, service: { ...service, failedShare: windows.failedShare } };
  } finally {
    // If the server has died, its requests end at once; closing first would wait for them.
    source.end();
    await playing.catch(() => {});
    target.close();
  }
}

/** Does not wait if the server has died. */
const pause = (ms: number) => sleep(ms, undefined, { ref: false });

/** Activity of both sides and the device during the trials. */
async function measureService(
  child: BenchChild,
  gpus: number,
  fromNs: number,
  over: Promise<void>,
): Promise<Omit<Service, 'failedShare'>> {
  await pause(fromNs / NS_PER_MS);
  const startMs = performance.now();
  const before = await counters(child.ports.metrics);
  await child.usage();
  const own = new UsageMeter();
  await over;
  const generator = own.take();
  const tookS = (performance.now() - startMs) / 1000;
  const server = await child.usage();
  const after = await counters(child.ports.metrics);
  const infers = after.infers - before.infers;
  return {
    generator,
    server,
    meanBatch: infers === 0 ? 0 : (after.requests - before.requests) / infers,
    deviceBusy: Math.min(1, (after.busyS - before.busyS) / (gpus * tookS)),
  };
}

async function counters(port: number) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return {
    requests:
      metricSum(text, 'escapement_requests_total', 'outcome="ok"') +
      metricSum(text, 'escapement_requests_total', 'outcome="late"'),
    infers: metricSum(text, 'escapement_actions_total', 'action="INFER"', 'status="ok"'),
    busyS: metricSum(text, 'escapement_lane_busy_seconds_total', 'lane="EXEC"'),
  };
}

/** Sum over all samples of a metric in Prometheus' text format with these labels. */
export function metricSum(text: string, metric: string, ...labels: readonly string[]): number {
  const samples = text.matchAll(new RegExp(`^${metric}(?:\\{(.*)\\})? (\\S+)`, 'gm'));
  return Array.from(samples)
    .filter(([, given = '']) => labels.every((label) => given.split(',').includes(label)))
    .reduce((sum, [, , value]) => sum + Number(value), 0);
}

/** `answers`: the server's answers, most frequent first. */
export function noAnswers(
  stage: string,
  outcomes: readonly number[],
  waitedMs: number,
  answers: readonly AnswerCount[],
): EscapementError {
  const counts = outcomes.flatMap((count, outcome) =>
    count === 0 ? [] : [`${count} ${OUTCOME_NAMES[outcome]}`],
  );
  const what = counts.length === 0 ? 'no request ended' : `requests ended ${counts.join(', ')}`;
  const said = answers.find(({ message }) => message !== '');
  const most = said === undefined ? '' : `; most often the server said ${said.status}, "${said.message}"`;
  return new EscapementError(
    'E_SERVER',
    `${stage}: too few answers for the trials in ${waitedMs / 1000} s (${what}${most}): increase --duration, or --set slo`,
  );
}

/**
 * Clients that send their next request as soon as the last one is answered. They take the models in turn, so that a
 * fast model does not get more requests.
 */
export class MixedSource implements ArrivalSource {
  model = 0;
  /** Clients that may send, with their earliest send times, ascending. */
  private readonly ready: { readonly user: number; readonly timeNs: number }[];
  private isEnded = false;

  constructor(
    clients: number,
    private readonly models: number,
    readonly sloNs: number,
  ) {
    this.ready = Array.from({ length: clients }, (_, user) => ({ user, timeNs: 0 }));
  }

  get timeNs(): number {
    return this.isEnded ? Number.POSITIVE_INFINITY : (this.ready[0]?.timeNs ?? Number.POSITIVE_INFINITY);
  }

  /** Stops arrivals. */
  end(): void {
    this.isEnded = true;
  }

  get user(): number {
    return this.ready[0]?.user ?? 0;
  }

  advance(): void {
    this.ready.shift();
    this.model = (this.model + 1) % this.models;
  }

  answered(user: number, nowNs: number): void {
    this.ready.push({ user, timeNs: nowNs });
  }
}
