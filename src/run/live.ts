import { EscapementError } from '../base/errors.js';
import { stream } from '../base/random/streams.js';
import { NS_PER_S } from '../base/units.js';
import type { Experiment } from '../config/experiment.js';
import { targetNames } from '../config/pipelines.js';
import { scalerEntryOf } from '../config/schema-policy.js';
import { LocalLink, type WorkerLink } from '../live/controller/link/worker-link.js';
import type { LiveController } from '../live/controller/live-controller.js';
import { wirePipeline } from '../live/pipeline.js';
import type { SchedulingService } from '../live/service.js';
import { type LocalMachine, type MachineOptions, startMachine } from '../live/worker/local-machine.js';
import { generatorFigures, play } from '../load/player.js';
import { openServiceTarget } from '../load/service-target.js';
import { Histogram } from '../record/histogram.js';
import { type ClusterSettings, startCluster } from '../serve/cluster.js';
import { experimentMachines } from '../serve/experiment-models.js';
import { JournalObserver } from '../serve/journal-observer.js';
import { drawCounts } from '../sim/fan-out.js';
import type { Engine, EngineReport, EngineTask } from './run.js';

const DRAIN_NS = 10 * NS_PER_S;

/**
 * Real time: a generator in this process plays the workload on real models, or on GPUs simulated in real time.
 * `journal`: file for all input to the core; if it exists, a number is added to its name.
 */
export function live(journal?: string): Engine {
  return { kind: 'live', drive: (task) => drive(task, journal) };
}

async function drive(task: EngineTask, journalName: string | undefined): Promise<EngineReport> {
  const { experiment, source, observer, events, begin, watch, onProgress } = task;
  refuseSimulatedOnly(experiment);
  const machines = await startAll(await experimentMachines(experiment));
  begin();
  const wakeLateness = new Histogram();
  const failures: Error[] = [];
  /** Problems of devices, each message once, in order. */
  const problems = new Set<string>();
  const links = machines.map((machine) => new LocalLink(machine));
  const cluster = await startCluster(settingsOf(experiment, links), (assembly) => ({
    result: {
      run: observer,
      events: { wokeLate: (lateNs: number) => wakeLateness.record(lateNs) },
      started: ({ core }) => watch(core),
    },
    problems: {
      events: {
        gpuDown: (gpu: number, reason: string) => {
          const text = `GPU ${gpu} was lost: ${reason}`;
          problems.add(text);
          events.push({ atSeconds: assembly.clock.nowNs() / NS_PER_S, kind: 'GPU lost', text });
        },
        deviceError: (gpu: number, model: string, error: string) =>
          problems.add(`GPU ${gpu}, ${model}: ${error}`),
      },
    },
    journal:
      journalName === undefined
        ? null
        : new JournalObserver(journalName, assembly, (error) => failures.push(error)),
  }));
  const { controller, assembly, observers } = cluster;
  try {
    servePipelines(experiment, controller);
    const names = targetNames(experiment.models, experiment.pipelines);
    const played = await play({
      source,
      clock: assembly.clock,
      target: openServiceTarget(withCounts(experiment, controller), { models: names, seed: experiment.seed }),
      onProgress,
    });
    await cluster.close(DRAIN_NS);
    if (failures.length > 0) throw failures[0];
    return {
      digest: controller.core.digest,
      arrivals: played.requests,
      live: {
        generator: generatorFigures(played, 0, wakeLateness),
        played,
        deviceErrors: [...problems],
        wakeLateness,
        journal: observers.journal?.path ?? null,
      },
    };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Throws `E_CONFIG_VALUE` for pipelines whose models do not fit together. */
function servePipelines({ pipelines, models, placeOf }: Experiment, controller: LiveController): void {
  const find = (name: string) => {
    const index = models.findIndex((each) => each.name === name);
    return { index, model: controller.modelAt(index)! };
  };
  for (const [p, pipeline] of pipelines.entries()) {
    try {
      controller.putPipeline(p, wirePipeline(pipeline, find));
    } catch (error) {
      const what = `pipeline ${pipeline.name}: ${(error as Error).message}`;
      throw new EscapementError('E_CONFIG_VALUE', what, placeOf(['pipelines', p]));
    }
  }
}

/** Draws how many requests the steps of pipelines have, as simulations do, where no tensor says it. */
function withCounts({ pipelines, models, seed }: Experiment, service: SchedulingService): SchedulingService {
  if (pipelines.length === 0) return service;
  const random = stream(seed, 'pipelines');
  return {
    get state() {
      return service.state;
    },
    nowNs: () => service.nowNs(),
    watch: (changed) => service.watch(changed),
    infer: (request) => {
      const pipeline = pipelines[request.model - models.length];
      if (pipeline !== undefined) request.counts = drawCounts(pipeline, random);
      service.infer(request);
    },
  };
}

/** Throws `E_CONFIG_VALUE` for a scaler and for failures of GPUs. */
function refuseSimulatedOnly(experiment: Experiment): void {
  const { scaler, cluster, file } = experiment;
  if (scalerEntryOf(scaler) !== null) {
    const what = `${scaler.kind} starts and stops GPUs, which only simulations do: choose scaler.kind=none here`;
    throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'scaler.kind' });
  }
  if (cluster.failures.length + cluster.slowdowns.length === 0) return;
  const what = 'GPUs fail as planned only in simulations: leave it out with cluster.failures=[]';
  throw new EscapementError('E_CONFIG_VALUE', what, { file, key: 'cluster.failures' });
}

/** Starts all machines; closes those already started if one fails. */
async function startAll(options: readonly MachineOptions[]): Promise<LocalMachine[]> {
  const started = await Promise.allSettled(options.map((each) => startMachine(each)));
  const machines = started.flatMap((start) => (start.status === 'fulfilled' ? start.value : []));
  const failed = started.find(({ status }) => status === 'rejected');
  if (failed?.status !== 'rejected') return machines;
  await Promise.all(machines.map((machine) => machine.close()));
  throw failed.reason;
}

function settingsOf(
  { policy, sloNs, admission, missedWindow, classes, tenants, padding }: Experiment,
  links: readonly WorkerLink[],
): ClusterSettings {
  return { links, policy, sloNs, admission, missedWindow, classes, tenants, padding, hasAllModels: true };
}
