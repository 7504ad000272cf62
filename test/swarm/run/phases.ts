import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import type { Cluster } from '../../../src/core/cluster.js';
import type { Server } from '../../../src/serve/server.js';
import { PROBE, probedOf } from '../check/recovery.js';
import type { GpuSnapshot, HistoryEvent } from '../history/history.js';
import type { Role, Stage } from './stage.js';

/** One seed in so many is watched for all of the time to recover: what works may stop to. */
const PATIENT_EVERY = 8;
/** The others, until all has worked for so long. */
const WELL_NS = 5 * NS_PER_S;
const LOOK_NS = NS_PER_S / 2;
/** Until the actions of a policy that loads ahead are over. */
const REST_NS = 5 * NS_PER_S;
const REST_STEP_NS = 100 * NS_PER_MS;
/** Models come back after this. */
const BACK_NS = NS_PER_S;
/** Probes are sent again and again for so long: some policies plan for ten seconds at a time. */
const PROBE_NS = 60 * NS_PER_S;
const PROBE_EVERY_NS = NS_PER_S;
const PROBE_SLO_NS = 3 * NS_PER_S;
/** Between the first probes of two models. */
const PROBE_STEP_NS = 137 * NS_PER_MS;
const END_NS = 40 * NS_PER_S;

/** From the end of all faults until all works, and nothing is under way, or the time for that is over. */
export async function recover(stage: Stage): Promise<void> {
  const { scenario, simulation } = stage;
  const untilNs = scenario.loadNs + scenario.recoverNs;
  bringBack(stage);
  const wellNs = scenario.seed % PATIENT_EVERY === 0 ? Number.POSITIVE_INFINITY : WELL_NS;
  let sinceNs = Number.POSITIVE_INFINITY;
  await simulation.runUntil(untilNs, LOOK_NS, () => {
    const { nowNs } = simulation;
    sinceNs = isWell(stage) ? Math.min(sinceNs, nowNs) : Number.POSITIVE_INFINITY;
    return nowNs - sinceNs >= wellNs;
  });
  bringBack(stage);
  await simulation.run(simulation.nowNs + 2 * BACK_NS);
  const restNs = simulation.nowNs + REST_NS;
  if (!isAtRest(stage)) await simulation.runUntil(restNs, REST_STEP_NS, () => isAtRest(stage));
}

/** Asks for each model until it is served. */
export async function probe({ simulation, clients, scenario }: Stage): Promise<void> {
  const untilNs = scenario.loadNs + scenario.recoverNs + PROBE_NS;
  const { classes } = scenario.cluster;
  const left = new Set(probedOf(scenario.cluster));
  // A lighter request may have to wait for the memory of models that heavier ones came for.
  const weights = classes?.map(({ weight }) => weight) ?? [];
  const client = {
    name: PROBE,
    ...(classes && { requestClass: weights.indexOf(Math.max(...weights)) }),
  };
  const ask = (model: string) =>
    clients.ask(client, model, PROBE_SLO_NS, (isOk) => {
      if (isOk) left.delete(model);
      else if (simulation.nowNs < untilNs) simulation.at(simulation.nowNs + PROBE_EVERY_NS, () => ask(model));
    });
  for (const [m, model] of [...left].entries())
    simulation.at(simulation.nowNs + m * PROBE_STEP_NS, () => ask(model));
  await simulation.runUntil(untilNs + PROBE_SLO_NS, PROBE_EVERY_NS, () => left.size === 0);
}

/** First the controllers, as an operator does it. */
export async function end(stage: Stage): Promise<void> {
  stage.isOver = true;
  for (const roles of [stage.controllers, stage.workers]) await stopAll(stage, roles);
}

async function stopAll(stage: Stage, roles: readonly Role[]): Promise<void> {
  const { simulation } = stage;
  simulation.at(simulation.nowNs, () => {
    for (const role of roles) stage.stop(role);
  });
  const isOver = () => !roles.some(({ process }) => process.isUp);
  await simulation.runUntil(simulation.nowNs + END_NS, LOOK_NS, isOver);
}

/** Models that clients have unloaded come back. */
function bringBack({ clients, scenario, simulation }: Stage): void {
  simulation.at(simulation.nowNs + BACK_NS, () => {
    for (const { model } of scenario.workload.changes) clients.change({ kind: 'load', model });
  });
}

/** One controller drives all GPUs, may load onto any, takes requests and has answered all that came; nothing is under way. */
function isWell(stage: Stage): boolean {
  const { controllers, workers, clients, scenario } = stage;
  if ([...controllers, ...workers].some(({ process }) => !process.isUp)) return false;
  const gpus = scenario.cluster.machines.reduce((sum, machine) => sum + machine.gpus, 0);
  const drivers = controllers.filter(({ server }) => server !== null && upOf(server) > 0);
  const [driver] = drivers;
  if (drivers.length !== 1 || driver.server === null || upOf(driver.server) < gpus) return false;
  const isReady = clients.doors.get(driver.process.name)?.service.state.notReady === null;
  const { cluster, requests } = driver.server.controller.core;
  const isBarred = cluster.bars.nextEndNs < Number.POSITIVE_INFINITY;
  return isReady && !isBarred && requests.size === 0 && isAtRest(stage);
}

function upOf({ controller }: NonNullable<Role['server']>): number {
  return controller.core.cluster.up.count;
}

function isAtRest({ controllers }: Stage): boolean {
  return controllers.every(
    ({ server }) => server === null || outstandingOf(server.controller.core.cluster) === 0,
  );
}

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/** What a controller believes, by its scheduler's state and its metrics in Prometheus' text format. */
export function snapshotOf(
  { controller }: Server,
  metrics: string,
): Pick<Snapshot, 'drives' | 'gpus' | 'requests' | 'actions' | 'metrics'> {
  const { cluster, requests } = controller.core;
  return {
    drives: cluster.up.count > 0,
    gpus: gpusOf(cluster, metrics),
    requests: requests.size,
    actions: outstandingOf(cluster),
    metrics,
  };
}

/** LOADs and INFERs without a result. */
export function outstandingOf({ exec, weights }: Cluster): number {
  return [...exec, ...weights].reduce((sum, lane) => sum + (lane.isClosed ? 0 : lane.outstanding), 0);
}

const GPU_UP = /^escapement_gpu_up\{gpu="(\d+)",worker="([^":]*).*\} ([01])$/gm;

/** Those that are up. The numbers of a worker's GPUs ascend as they do on the worker. */
function gpusOf({ models, warm, pages }: Cluster, metrics: string): GpuSnapshot[] {
  const seen = new Map<string, number>();
  return [...metrics.matchAll(GPU_UP)].flatMap(([, number, worker, isUp]) => {
    const gpu = Number(number);
    const local = seen.get(worker) ?? 0;
    seen.set(worker, local + 1);
    if (isUp === '0') return [];
    const held = models.flatMap(({ name }, model) => (warm.has(model, gpu) ? name : []));
    return { worker, gpu: local, warm: held, freePages: pages[gpu].free };
  });
}
