import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import type { ClusterConfig, Experiment } from '../config/experiment.js';
import type { OpenedWorkloads } from '../config/open-workloads.js';
import { experimentNotes } from '../config/policy-notes.js';
import type { GpuKindConfig } from '../config/schema-cluster.js';
import { scalerEntryOf } from '../config/schema-policy.js';
import { shortestExecNs } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import type { PipelineSpec } from '../core/pipelines.js';
import type { CauseFinder } from '../record/causes.js';
import { FleetTally } from '../record/fleet-tally.js';
import { costFigures, type PaidKind } from '../record/parts.js';
import type { RunEvent, RunKind, RunResult, RunSetup, ScheduledRun } from '../record/results.js';
import { RESULTS_VERSION } from '../record/results-version.js';
import { RunTally } from '../record/run-tally.js';
import { buildSchedulerFigures, buildSlices, buildSummary } from '../record/summary.js';
import { Timeline } from '../record/timeline.js';
import type { Tuning } from '../record/tuned.js';
import { drawFailures, type GpuFailure } from '../sim/failures.js';
import { replaysLog, seedChanges } from './random-streams.js';

interface CollectorOptions {
  /** False if only answers are seen, as by a client. */
  readonly seesScheduler?: boolean;
  /** Further percentiles of latency, ascending. */
  readonly percentiles?: readonly number[];
  /** Largest resident memory of the process so far; absent if not known. */
  readonly peakRssBytes?: () => number;
}

/** Collects the requested data of a run on any clock, and builds its result. */
export class Collector {
  /** Observers of the run, in this order. */
  readonly observers: readonly RunObserver[];
  private readonly recorder: RunTally;
  private readonly timeline: Timeline | null;
  /** GPUs in service over time; null: always all of them. */
  readonly fleet: FleetTally | null;
  /** GPUs that fail. */
  readonly failures: readonly GpuFailure[];
  /** Events of GPUs that the engine reports. */
  readonly events: RunEvent[] = [];
  private began = performance.now();

  constructor(
    private readonly experiment: Experiment,
    private readonly workload: OpenedWorkloads,
    private readonly options: CollectorOptions,
  ) {
    const { cluster, models, pipelines, output } = experiment;
    const { seesScheduler = true } = options;
    const kinds = namedKinds(cluster);
    this.recorder = new RunTally({
      gpus: cluster.gpus,
      durationNs: workload.durationNs,
      warmupNs: experiment.warmupNs,
      models,
      pipelines,
      sections: workload.sections,
      sectionStarts: workload.sectionStarts,
      classes: experiment.classes,
      tenants: experiment.tenants.list,
      kinds: seesScheduler ? kinds : [],
      seesScheduler,
    });
    const slice = output.timeline;
    this.timeline = slice === null ? null : new Timeline({ slice, models, warmupNs: experiment.warmupNs });
    this.failures = drawFailures(cluster.failures, cluster.gpus, workload.durationNs, experiment.seed);
    const isFixed = scalerEntryOf(experiment.scaler) === null && this.failures.length === 0;
    const tallied = kinds.length === 0 ? [{ name: '', gpus: cluster.gpus }] : kinds;
    this.fleet = isFixed
      ? null
      : new FleetTally({ kinds: tallied, warmupNs: experiment.warmupNs, durationNs: workload.durationNs });
    this.observers = [this.recorder, this.timeline].filter((observer) => observer !== null);
  }

  /** Finds why requests failed; null if this cannot be seen. */
  get causes(): CauseFinder | null {
    return this.recorder.causes;
  }

  /** Number of actions of the timeline's slice beyond its capacity. */
  get actionsLeftOut(): number {
    return this.timeline?.dropped ?? 0;
  }

  /** Starts wall time once everything is set up, rather than in the constructor. */
  begin(): void {
    this.began = performance.now();
  }

  /** Follows the values that the controller's policy tunes. Call before the run begins. */
  watch(controller: Tuning): void {
    this.recorder.watch(controller);
  }

  /** Result of a run with an observed scheduler. `arrivals`: warm-up included. */
  finish(kind: 'simulated' | 'live', digest: string, arrivals: number): ScheduledRun {
    const { experiment, recorder, timeline, fleet } = this;
    const onNs = this.paid?.reduce((sum, kind) => sum + kind.onNs, 0) ?? null;
    const { summary, setup, ...seen } = this.finishAsClient(kind, arrivals);
    const tuned = recorder.tunedSeries;
    const worst = timeline?.moment() ?? null;
    const { kind: policy, plugin } = experiment.policy;
    const isSimulated = kind === 'simulated';
    const isOneSample = !seedChanges(experiment);
    const clocks = isSimulated ? clockEvents(experiment.cluster) : [];
    const failed = this.failures.map(failureEvent);
    const slow = isSimulated ? experiment.cluster.slowdowns.map(slowEvent) : [];
    const events = [...this.events, ...clocks, ...slow, ...failed, ...(fleet?.events ?? [])];
    return {
      ...seen,
      summary: {
        ...summary,
        ...buildSchedulerFigures(recorder, { policy, digest }, onNs),
        ...this.costFigures(),
        ...notesOf(experiment),
        ...(fleet === null || scalerEntryOf(experiment.scaler) === null
          ? {}
          : { scaling: fleet.figures(experiment.scaler.kind) }),
      },
      ...(isSimulated && (isOneSample || replaysLog(experiment))
        ? { slices: { oneSample: isOneSample, ...buildSlices(recorder, sectionSenders(experiment)) } }
        : {}),
      ...(plugin === undefined ? {} : { plugin: { file: plugin.file, digest: plugin.digest } }),
      ...(tuned.length === 0 ? {} : { tuned }),
      ...(fleet === null ? {} : { fleet: fleet.overTime() }),
      ...(events.length === 0 ? {} : { events: events.sort((a, b) => a.atSeconds - b.atSeconds) }),
      timeline: timeline?.entries() ?? [],
      ...(worst === null ? {} : { worst }),
      setup: { ...setup, ...setupOf(experiment) },
    };
  }

  /** Time in service by kind of GPU; null: the whole run. */
  private get paid(): readonly PaidKind[] | null {
    return this.fleet?.paid() ?? null;
  }

  /** Empty if the GPUs are of one unnamed kind. */
  private costFigures(): Pick<ScheduledRun['summary'], 'cost'> {
    const cost = this.recorder.kinds.length === 0 ? null : costFigures(this.recorder, this.paid);
    return cost === null ? {} : { cost };
  }

  /** Result of a run of which only answers were observed. */
  finishAsClient(kind: RunKind, arrivals: number): RunResult & { readonly setup: RunSetup } {
    const { experiment, recorder, workload } = this;
    const { percentiles = [], peakRssBytes } = this.options;
    const wall = { ...wallSince(this.began, arrivals), peakRssBytes: peakRssBytes?.() ?? null };
    // Rows of a file may each have their own SLO: the requests decide.
    const slosMs = workload.sectionSlosNs.map((sloNs, section) =>
      sloNs === null ? recorder.sloMsOf(section) : sloNs / NS_PER_MS,
    );
    const { name, seed, source } = experiment;
    const { text, overrides } = source;
    return {
      version: RESULTS_VERSION,
      experiment: text,
      ...(overrides.length === 0 ? {} : { overrides }),
      summary: buildSummary(recorder, { name, kind, seed, wall }, { slosMs, percentiles, paid: this.paid }),
      sloMs: slosMs.every((sloMs) => sloMs === slosMs[0]) ? slosMs[0] : null,
      windows: recorder.windows.rows(recorder.causes === null ? null : (this.fleet ?? recorder.gpus)),
      latencyCdf: recorder.total().curve(0),
      timeline: [],
      setup: { firstUsers: workload.sectionStarts, ...lengthsOf(experiment), ...pipelinesOf(experiment) },
    };
  }
}

function failureEvent({ gpu, atNs, untilNs }: GpuFailure): RunEvent {
  return { atSeconds: atNs / NS_PER_S, kind: 'GPU lost', text: `GPU ${gpu} is gone ${untilText(untilNs)}` };
}

function slowEvent({ gpu, atNs, untilNs, times }: ClusterConfig['slowdowns'][number]): RunEvent {
  const untilSeconds = untilNs === Number.POSITIVE_INFINITY ? null : untilNs / NS_PER_S;
  const text = `INFERs on GPU ${gpu} take ${times} times as long ${untilText(untilNs)}`;
  return { atSeconds: atNs / NS_PER_S, kind: 'GPU slow', text, slow: { gpu, untilSeconds, times } };
}

function untilText(untilNs: number): string {
  return untilNs === Number.POSITIVE_INFINITY ? 'for good' : `until ${untilNs / NS_PER_S} s`;
}

function clockEvents({ gpuClock }: ClusterConfig): RunEvent[] {
  const planned = gpuClock.filter((change) => !('isSlow' in change));
  return planned.map(({ atNs, gpu, factor }) => {
    const text = `clock of ${gpu < 0 ? 'all GPUs' : `GPU ${gpu}`} × ${factor}`;
    return { atSeconds: atNs / NS_PER_S, kind: 'clock', text };
  });
}

/** Sender of each workload section; the first class and tenant if it names none. */
function sectionSenders({ workloads, classes, tenants }: Experiment) {
  return workloads.map((workload) => {
    const own = classes.find(({ name }) => name === workload.class) ?? classes[0];
    const tenant = tenants.list.find(({ name }) => name === workload.tenant) ?? tenants.list[0];
    return { class: own?.name ?? null, tenant: tenant?.name ?? null, weight: own?.weight ?? 1 };
  });
}

/** Notes on the policy for the summary. */
function notesOf(experiment: Experiment): Pick<ScheduledRun['summary'], 'policyNotes'> {
  const notes = experimentNotes(experiment).filter(({ policy }) => policy !== undefined);
  return notes.length === 0 ? {} : { policyNotes: notes };
}

/** Empty if the GPUs are of one unnamed kind. */
function namedKinds({ kinds }: ClusterConfig): (GpuKindConfig & { readonly name: string })[] {
  return kinds.flatMap(({ name, ...kind }) => (name === null ? [] : [{ ...kind, name }]));
}

function setupOf(experiment: Experiment): Omit<RunSetup, 'firstUsers'> {
  const { cluster, models, policy } = experiment;
  const kinds = namedKinds(cluster).map(({ name, gpus, pages }) => ({ name, gpus, cachePages: pages }));
  return {
    gpus: cluster.gpus,
    workers: cluster.workers,
    cachePages: cluster.pages,
    ...(kinds.length === 0 ? {} : { kinds }),
    modelPages: models.map(({ pages }) => pages),
    modelInferMs: models.map((model) => shortestExecNs(model) / NS_PER_MS),
    ...lengthsOf(experiment),
    oneLane: cluster.oneLane,
    overheadMs: cluster.overheadNs / NS_PER_MS,
    clockOffsetMs: cluster.clockOffsetNs / NS_PER_MS,
    policyOptions: { ...policy.options },
  };
}

/** Empty if there are no pipelines, which logs number after the models. */
function pipelinesOf({ models, pipelines }: Experiment): Pick<RunSetup, 'modelPages' | 'pipelines'> {
  if (pipelines.length === 0) return {};
  return { modelPages: models.map(({ pages }) => pages), pipelines: pipelineSetup(pipelines) };
}

/** Pipelines as the results of a run describe them. */
export function pipelineSetup(pipelines: readonly PipelineSpec[]): NonNullable<RunSetup['pipelines']> {
  return pipelines.map(({ name, steps }) => ({
    name,
    steps: steps.map(({ id, model, after, variants }) => ({
      ...{ id, model, after: [...after] },
      ...(variants === undefined ? {} : { variants: [...variants] }),
    })),
  }));
}

/** Empty if no model takes several lengths. */
function lengthsOf({ models, padding }: Experiment): Pick<RunSetup, 'modelLengths' | 'padding'> {
  if (models.every(({ lengths }) => lengths === undefined)) return {};
  return { modelLengths: models.map(({ lengths = [] }) => [...lengths]), padding };
}

function wallSince(began: number, arrivals: number) {
  const seconds = (performance.now() - began) / 1000;
  return { seconds, processedRps: arrivals / seconds };
}
