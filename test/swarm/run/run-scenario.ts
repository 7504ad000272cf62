import { readServerSettings, type ServerSettings } from '../../../src/config/server-settings.js';
import type { History, HistoryEvent, JournalFile } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';
import { healAll, planFaults } from './faults.js';
import { end, probe, recover, snapshotOf } from './phases.js';
import { lifeOf } from './recorder.js';
import { Stage } from './stage.js';

export interface Run {
  readonly history: History;
  /** Equal for equal runs. */
  readonly digest: string;
  readonly events: number;
  /** True time that passed in the world. */
  readonly endNs: number;
}

/** Load and faults, then time to recover, then a request for each model, then the end. */
export async function runScenario(scenario: Scenario): Promise<Run> {
  const stage = new Stage(scenario, await runtimeSettings());
  const { simulation, clients } = stage;
  clients.start();
  planFaults(stage);
  await simulation.run(scenario.loadNs);
  healAll(stage);
  await recover(stage);
  await snapshotAll(stage);
  await probe(stage);
  await end(stage);
  const { events } = stage.recorder;
  return {
    history: { scenario, events, journals: journalsOf(stage, events) },
    digest: simulation.digest,
    events: simulation.events,
    endNs: simulation.nowNs,
  };
}

let runtime: Promise<ServerSettings['runtime']> | null = null;

function runtimeSettings(): Promise<ServerSettings['runtime']> {
  runtime ??= readServerSettings({ file: null, environment: [], overrides: [] }).then(
    ({ settings }) => settings.runtime,
  );
  return runtime;
}

async function snapshotAll({ simulation, controllers, clients, recorder }: Stage): Promise<void> {
  const atNs = simulation.nowNs;
  for (const { process, server, registry } of controllers) {
    if (server === null || !process.isUp) continue;
    const isReady = clients.doors.get(process.name)?.service.state.notReady === null;
    const seen = snapshotOf(server, await registry.metrics());
    recorder.add({ atNs, kind: 'snapshot', process: lifeOf(process), isReady, ...seen });
  }
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
      // A controller with a thread that hangs ends by itself, at once.
      stage.scenario.faults.some(
        (fault) =>
          ['powerLoss', 'threadHangs'].includes(fault.kind) && 'process' in fault && fault.process === name,
      );
    return disk.list.map((path) => ({ process: name, path, text: disk.read(path), mayBeCut: isHurt }));
  });
}
