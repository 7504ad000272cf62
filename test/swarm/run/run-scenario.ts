import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { readServerSettings, type ServerSettings } from '../../../src/config/server-settings.js';
import { PROBE } from '../check/recovery.js';
import type { History, HistoryEvent, JournalFile } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';
import { healAll, planFaults } from './faults.js';
import { lifeOf } from './recorder.js';
import { snapshotOf } from './snapshot.js';
import { Stage } from './stage.js';

export interface Run {
  readonly history: History;
  /** Equal for equal runs. */
  readonly digest: string;
  readonly events: number;
  /** True time that passed in the world. */
  readonly endNs: number;
  /** The last things that happened, in the words of the world. */
  readonly trace: string;
}

/** Probes are sent again and again for so long: some policies plan for ten seconds at a time. */
const PROBE_NS = 60 * NS_PER_S;
const PROBE_EVERY_NS = NS_PER_S;
const PROBE_SLO_NS = 3 * NS_PER_S;
/** Between the first probes of two models. */
const PROBE_STEP_NS = 137 * NS_PER_MS;
/** Until the actions of a policy that loads ahead are over. */
const REST_NS = 5 * NS_PER_S;
const REST_STEP_NS = 20 * NS_PER_MS;
const END_NS = 40 * NS_PER_S;

/** Load and faults, then time to recover, then a request for each model, then the end. */
export async function runScenario(scenario: Scenario): Promise<Run> {
  const stage = new Stage(scenario, await runtimeSettings());
  const { simulation, clients } = stage;
  clients.start();
  planFaults(stage);
  await simulation.run(scenario.loadNs);
  healAll(stage);
  bringBack(stage);
  await simulation.run(scenario.loadNs + scenario.recoverNs);
  bringBack(stage);
  await rest(stage);
  await snapshotAll(stage);
  await probe(stage);
  await end(stage);
  const { events } = stage.recorder;
  return {
    history: { scenario, events, journals: journalsOf(stage, events) },
    digest: simulation.digest,
    events: simulation.events,
    endNs: simulation.nowNs,
    trace: simulation.trace.text(),
  };
}

let runtime: Promise<ServerSettings['runtime']> | null = null;

function runtimeSettings(): Promise<ServerSettings['runtime']> {
  runtime ??= readServerSettings({ file: null, environment: [], overrides: [] }).then(
    ({ settings }) => settings.runtime,
  );
  return runtime;
}

/** Models that clients have unloaded come back. */
function bringBack({ clients, scenario, simulation }: Stage): void {
  simulation.at(simulation.nowNs + NS_PER_S, () => {
    for (const { model } of scenario.workload.changes) clients.change({ kind: 'load', model });
  });
}

/** Until no action is under way. */
async function rest({ simulation, controllers }: Stage): Promise<void> {
  const untilNs = simulation.nowNs + REST_NS;
  await simulation.run(simulation.nowNs + 2 * NS_PER_S);
  const isAtRest = () =>
    controllers.every(({ server }) => server === null || snapshotOf(server).actions === 0);
  while (!isAtRest() && simulation.nowNs < untilNs) await simulation.run(simulation.nowNs + REST_STEP_NS);
}

async function snapshotAll(stage: Stage): Promise<void> {
  const atNs = stage.simulation.nowNs;
  for (const { process, server, registry } of stage.controllers) {
    if (server === null) continue;
    const metrics = await registry.metrics();
    stage.recorder.add({
      atNs,
      kind: 'snapshot',
      process: lifeOf(process),
      ...snapshotOf(server),
      metrics,
    });
  }
}

/** Asks for each model until it is served. */
async function probe({ simulation, clients, scenario }: Stage): Promise<void> {
  const untilNs = simulation.nowNs + PROBE_NS;
  const left = new Set(scenario.cluster.models.map(({ name }) => name));
  const ask = (model: string) =>
    clients.ask(PROBE, model, PROBE_SLO_NS, (isOk) => {
      if (isOk) left.delete(model);
      else if (simulation.nowNs < untilNs) simulation.at(simulation.nowNs + PROBE_EVERY_NS, () => ask(model));
    });
  for (const [m, model] of [...left].entries())
    simulation.at(simulation.nowNs + m * PROBE_STEP_NS, () => ask(model));
  while (left.size > 0 && simulation.nowNs < untilNs + PROBE_SLO_NS)
    await simulation.run(simulation.nowNs + PROBE_EVERY_NS);
}

/** First the controllers, as an operator does it. */
async function end(stage: Stage): Promise<void> {
  const { simulation } = stage;
  stage.isOver = true;
  simulation.at(simulation.nowNs, () => {
    for (const role of stage.controllers) stage.stop(role);
  });
  await simulation.run(simulation.nowNs + END_NS);
  simulation.at(simulation.nowNs, () => {
    for (const role of stage.workers) stage.stop(role);
  });
  await simulation.run(simulation.nowNs + END_NS);
}

function journalsOf(stage: Stage, events: readonly HistoryEvent[]): JournalFile[] {
  return stage.controllers.flatMap(({ machine, process: { name } }) => {
    const { disk } = machine;
    // One for each life, in the order in which they were made; a life that did not come so far has none.
    const isHurt =
      events.some(
        (event) =>
          ['crashed', 'died'].includes(event.kind) &&
          'process' in event &&
          event.process.startsWith(`${name}#`),
      ) ||
      stage.scenario.faults.some((fault) => 'machine' in fault && fault.machine === name) ||
      stage.scenario.faults.some((fault) => fault.kind === 'powerLoss' && fault.process === name);
    return disk.list.map((path) => ({ process: name, path, text: disk.read(path), mayBeCut: isHurt }));
  });
}
