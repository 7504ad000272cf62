import { NS_PER_MS } from '../../../src/base/units.js';
import type { History, HistoryEvent, ProcessLife } from '../history/history.js';
import { isPipeline } from '../scenario/expected.js';
import type { ClusterScenario, PolicyScenario, Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';

/** Client that asks for each model once when all must work again. */
export const PROBE = 'probe';

/**
 * As published, clockwork lets two models that do not fit on a GPU together replace each other for a while, alpaserve-sr places
 * models for ten seconds by what was asked in the ten before, and symphony holds a lone request until its deadline is near: so long
 * its model gives way to no other.
 */
const SERVE_AT_LAST = ['clockwork', 'alpaserve-sr', 'symphony'];
/**
 * As published, clockwork lets two models of a pipeline that do not fit on a GPU together replace each other without end, alpaserve-sr
 * places only some of them for ten seconds, and symphony holds a lone request of a step so long that the next step has less time than
 * the margin.
 */
const MAY_FAIL_LONE = ['clockwork', 'alpaserve-sr', 'symphony'];
const PLAN_UP_TO_DEADLINE = ['edf', 'shepherd', 'alpaserve-sr', 'symphony'];
/** What links and threads take at most, if nothing is wrong. */
const NEEDED_MARGIN_NS = 20 * NS_PER_MS;
/** A controller has connected with its workers so long after its start. */
const START_NS = 1000 * NS_PER_MS;

type Snapshot = Extract<HistoryEvent, { readonly kind: 'snapshot' }>;

/**
 * When the faults are over and the time to recover, too: one controller drives all GPUs, every model is served, nothing
 * waits.
 */
export const recovery: Check = {
  name: 'recovery',
  run({ events, scenario }: History) {
    const findings = new Findings('recovery');
    const snapshots = events.filter((event) => event.kind === 'snapshot');
    checkDrivers(events, snapshots, scenario.cluster.machines, findings);
    for (const snapshot of snapshots) checkRest(snapshot, findings);
    checkConnections(events, findings);
    checkNewConnections(events, findings);
    checkProbes(events, scenario, findings);
    return findings.list;
  },
};

function checkDrivers(
  events: readonly HistoryEvent[],
  quiet: readonly Snapshot[],
  machines: History['scenario']['cluster']['machines'],
  findings: Findings,
): void {
  const atNs = quiet.at(-1)?.atNs ?? 0;
  const drivers = quiet.filter(({ drives }) => drives);
  if (drivers.length !== 1) {
    const who = drivers.map(({ process }) => process).join(' and ') || 'no controller';
    findings.add(atNs, `${who} drives workers when all should work again`);
  }
  for (const driver of drivers) {
    if (!driver.isReady) findings.add(atNs, `${driver.process} drives workers, and is not ready`);
    const up = new Set(driver.gpus.map(({ worker, gpu }) => `GPU ${gpu} of ${worker}`));
    const all = machines.flatMap(({ name, gpus }) =>
      Array.from({ length: gpus }, (_, gpu) => `GPU ${gpu} of ${name}`),
    );
    const missing = all.filter((gpu) => !up.has(gpu) && !isLeftOut(events, driver.process, gpu));
    if (missing.length > 0) findings.add(atNs, `${driver.process} does not use ${missing.join(', ')}`);
  }
}

/** A listed worker that comes later than the first may have more GPUs than there are numbers for; the log says so. */
function isLeftOut(events: readonly HistoryEvent[], controller: string, gpu: string): boolean {
  const worker = gpu.replace(/^.* of /, '');
  const line = new RegExp(`^worker ${worker}:\\d+ is up.*; \\d+ of its GPUs are used from the next start on`);
  return events.some(
    (event) => event.kind === 'logged' && event.process === controller && line.test(event.line),
  );
}

/** A controller that was deposed has answered its requests; it forgets them when their time is over. */
function checkRest(snapshot: Snapshot, findings: Findings): void {
  const { process, requests, actions, atNs, drives } = snapshot;
  if (requests > 0 && drives)
    findings.add(atNs, `${process}: ${requests} requests are still without an answer`);
  if (actions > 0) findings.add(atNs, `${process}: ${actions} actions are still without a result`);
}

/** A controller has one connection with each worker: none that it gave up, and none on which a message was damaged or vanished. */
function checkConnections(events: readonly HistoryEvent[], findings: Findings): void {
  const open = new Map<number, { readonly controller: ProcessLife; readonly worker: ProcessLife }>();
  const damaged = new Set<number>();
  for (const event of events) {
    if (event.kind === 'streamOpened') open.set(event.stream, event);
    else if (event.kind === 'streamEnded') open.delete(event.stream);
    else if (event.kind === 'damaged') damaged.add(event.stream);
    else if (event.kind === 'snapshot') {
      const { process, atNs } = event;
      const own = [...open].filter(([, { controller }]) => controller === process);
      const workers = own.map(([, { worker }]) => worker);
      const twice = workers.find((worker, i) => workers.indexOf(worker) < i);
      if (twice !== undefined) findings.add(atNs, `${process} has more than one connection with ${twice}`);
      const hurt = own.find(([stream]) => damaged.has(stream));
      if (hurt === undefined) continue;
      const what = `${process} goes on with a connection with ${hurt[1].worker} on which a message was damaged or vanished`;
      findings.add(atNs, what, (one) => 'stream' in one && one.stream === hurt[0]);
    }
  }
}

/** When all works, no controller connects with a worker: it has its connections, unless it has only just started. */
function checkNewConnections(events: readonly HistoryEvent[], findings: Findings): void {
  const restNs = events.find(({ kind }) => kind === 'snapshot')?.atNs ?? Number.POSITIVE_INFINITY;
  // A server that a fault asked to stop drains for a while, and is started again.
  const startedNs = new Map<ProcessLife, number>();
  for (const event of events) {
    if (event.kind === 'started') startedNs.set(event.process, event.atNs);
    if (event.atNs <= restNs) continue;
    if (event.kind === 'asked to stop') return;
    if (event.kind !== 'streamOpened') continue;
    const { controller, worker, stream, atNs } = event;
    if (atNs <= startedNs.get(controller)! + START_NS) continue;
    const what = `${controller} connects with ${worker} when all should work again`;
    findings.add(atNs, what, (one) => 'stream' in one && one.stream === stream);
  }
}

/** Names of the models and pipelines that must be served, asked for one at a time. */
export function probedOf({ models, pipelines = [], policy }: ClusterScenario): string[] {
  const served = MAY_FAIL_LONE.includes(policy.kind) ? models : [...models, ...pipelines];
  return served.map(({ name }) => name);
}

/**
 * Each model is served at the first probe; at the last with some policies, or after LOADs that failed, which are not tried
 * for a while. So is a pipeline after an INFER that hung: a step has less time than that took, until nothing was measured
 * for a second.
 */
function checkProbes(events: readonly HistoryEvent[], scenario: Scenario, findings: Findings): void {
  const { policy } = scenario.cluster;
  const fails = scenario.faults.some(({ kind }) => kind === 'deviceFails' || kind === 'outOfMemory');
  const hangs = scenario.faults.some(({ kind }) => kind === 'deviceHangs');
  const isAtLast = (model: string) =>
    fails || SERVE_AT_LAST.includes(policy.kind) || (hangs && isPipeline(scenario.cluster, model));
  const probes = new Map<number, string>();
  /** By model that is not served so far: what came of its last probe. */
  const unserved = new Map<string, { readonly atNs: number; readonly how: string }>();
  for (const event of events) {
    if (event.kind === 'asked' && event.client === PROBE) probes.set(event.request, event.model);
    if (event.kind !== 'answered' && event.kind !== 'refused') continue;
    const model = probes.get(event.request);
    if (model === undefined) continue;
    const how = event.kind === 'refused' ? `refused, ${event.why}` : `${event.outcome} ${event.error}`.trim();
    // If all that is sent to a server is answered late, that counts as overload.
    const isLate = how === 'late' || how.includes('while the server is overloaded');
    if (how !== 'ok' && !(isLate && knowsNothingOfLinks(policy))) {
      if (!unserved.has(model)) unserved.set(model, { atNs: event.atNs, how });
    } else if (isAtLast(model)) unserved.delete(model);
  }
  for (const [model, { atNs, how }] of unserved)
    findings.add(
      atNs,
      `${model} is not served when all should work again: ${how}`,
      (event) => 'model' in event && event.model === model,
    );
}

/** Its answers come a little late: it plans up to the deadline, or nearly so. */
function knowsNothingOfLinks({ kind, options: { margin = 0 } }: PolicyScenario): boolean {
  return PLAN_UP_TO_DEADLINE.includes(kind) && (margin === 'auto' || margin < NEEDED_MARGIN_NS);
}
