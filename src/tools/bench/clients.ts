import { setTimeout as sleep } from 'node:timers/promises';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { openTarget } from '../../load/open-target.js';
import { play } from '../../load/player.js';
import type { AnswerCount } from '../../record/results.js';
import type { BenchChild } from './child/child-process.js';
import type { Ports, Protocol } from './child/messages.js';
import { MachineMeter, UsageMeter } from './child/usage-meter.js';
import { metricSum } from './metric-sum.js';
import { MixedSource } from './mixed-source.js';
import { type MeasuredStage, STAGE_TITLES, type StageName } from './result.js';
import { TENSOR_SEED } from './subject.js';
import { TrialWindows } from './trial-windows.js';

/** What the clients of a stage do. */
export interface ClientLoad {
  readonly protocol: Protocol;
  readonly models: readonly string[];
  readonly mix: readonly number[];
  readonly clients: number;
  readonly sloNs: number;
  readonly trials: number;
  /** Of a trial. */
  readonly seconds: number;
}

/** A server, and what of it runs in further processes. */
interface LoadedServer {
  readonly child: BenchChild;
  readonly ports: Ports;
  readonly helpers: readonly BenchChild[];
}

/** Models are loaded and clocks compared before the first trial. */
const LEAST_WARM_UP_S = 1;
/** A new server gets faster for some 3 s, until its code is compiled: by half again for the smallest requests. */
const MOST_WARM_UP_S = 4;

/** How long the clients are at work before the first trial. */
export function warmUpSeconds(seconds: number): number {
  return Math.min(MOST_WARM_UP_S, Math.max(LEAST_WARM_UP_S, 2 * seconds));
}

/**
 * Sends a server all that it can answer: each client sends the next request when the last is answered. Throws `E_SERVER`
 * if a trial ends without an answer or the server is killed.
 */
export async function loadServer(
  stage: StageName,
  server: LoadedServer,
  load: ClientLoad,
): Promise<MeasuredStage> {
  const { protocol, models, mix, clients, sloNs, trials, seconds } = load;
  const warmUpNs = warmUpSeconds(seconds) * NS_PER_S;
  const lengthNs = seconds * NS_PER_S;
  const windows = new TrialWindows(warmUpNs, lengthNs, trials);
  const endNs = warmUpNs + trials * lengthNs;
  const target = await openTarget(`${protocol}://127.0.0.1:${server.ports[protocol]}`, {
    models,
    seed: TENSOR_SEED,
    ...(protocol === 'http' ? { connections: clients } : {}),
  });
  const source = new MixedSource({ clients, mix, sloNs, endNs });
  const playing = play({ source, target, observer: windows });
  try {
    const meter = new UsageMeter();
    const measuring = measure(server, meter, warmUpNs, endNs);
    const deaths = [server.child, ...server.helpers].map(({ death }) => death);
    const [{ service, otherCores }, { answers }] = await Promise.race([
      Promise.all([measuring, playing]),
      ...deaths,
    ]);
    const results = windows.results();
    if (results === null) throw noAnswers(stage, windows, seconds, answers);
    return {
      stage,
      throughputRps: results.map(({ throughputRps }) => throughputRps),
      p50Ms: results.map(({ p50Ms }) => p50Ms),
      p99Ms: results.map(({ p99Ms }) => p99Ms),
      service: { ...service, failedShare: windows.failedShare },
      otherCores,
    };
  } finally {
    // If the server has died, its requests end at once; closing first would wait for them.
    source.end();
    await playing.catch(() => {});
    target.close();
  }
}

/** What both sides, the device and the rest of the machine did during the trials. */
async function measure(
  { child, ports, helpers }: LoadedServer,
  meter: UsageMeter,
  fromNs: number,
  toNs: number,
) {
  const helped = async () =>
    (await Promise.all(helpers.map((helper) => helper.usage()))).map(({ cores }) => cores);
  await pause(fromNs);
  const before = await counters(ports.metrics);
  await Promise.all([child.usage(), helped()]);
  meter.take();
  const machine = new MachineMeter();
  await pause(toNs - fromNs);
  const busyCores = machine.take();
  const generator = meter.take();
  const [server, helpersCores] = await Promise.all([child.usage(), helped()]);
  const after = await counters(ports.metrics);
  const infers = after.infers - before.infers;
  const ownCores = helpersCores.reduce((sum, cores) => sum + cores, generator.cores + server.cores);
  return {
    service: {
      generator,
      server,
      meanBatch: infers === 0 ? 0 : (after.requests - before.requests) / infers,
      deviceBusy: Math.min(1, (after.busyS - before.busyS) / ((toNs - fromNs) / NS_PER_S)),
    },
    otherCores: Math.max(0, busyCores - ownCores),
  };
}

/** Does not wait if the server has died meanwhile. */
function pause(ns: number): Promise<void> {
  return sleep(ns / NS_PER_MS, undefined, { ref: false });
}

async function counters(port: number) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const requests = (outcome: string) => metricSum(text, 'escapement_requests_total', { outcome });
  return {
    requests: requests('ok') + requests('late'),
    infers: metricSum(text, 'escapement_actions_total', { action: 'INFER', status: 'ok' }),
    busyS: metricSum(text, 'escapement_lane_busy_seconds_total', { lane: 'EXEC' }),
  };
}

/** `answers`: what the server said, the most frequent first. */
export function noAnswers(
  stage: StageName,
  { outcomes }: Pick<TrialWindows, 'outcomes'>,
  seconds: number,
  answers: readonly AnswerCount[],
): EscapementError {
  const counts = outcomes.flatMap((count, outcome) =>
    count === 0 ? [] : [`${count} ${OUTCOME_NAMES[outcome]}`],
  );
  const what = counts.length === 0 ? 'no request ended' : `its requests ended ${counts.join(', ')}`;
  const said = answers.find(({ message }) => message !== '');
  const most = said === undefined ? '' : `; most often the server said ${said.status}, "${said.message}"`;
  return new EscapementError(
    'E_SERVER',
    `${STAGE_TITLES[stage]}: a trial of ${seconds} s had no answer (in all trials ${what}${most}): increase --duration, or --set slo`,
  );
}
