import { join } from 'node:path';
import { NS_PER_MS } from '../base/units.js';
import type { Experiment } from '../config/experiment.js';
import type { OpenedWorkloads } from '../config/open-workloads.js';
import type { RunObserver } from '../core/observer.js';
import { ActionLog } from '../record/action-log.js';
import type { CauseFinder } from '../record/cause-finder.js';
import { fanOut } from '../record/fan-out.js';
import { modelFigures } from '../record/model-figures.js';
import { RequestLog } from '../record/request-log.js';
import type { ClusterSetup, RunKind, RunResult, RunSetup, ScheduledRun } from '../record/results.js';
import { RunTally } from '../record/run-tally.js';
import {
  buildColdStartSeries,
  buildGroups,
  buildLatencyCdf,
  buildSchedulerFigures,
  buildSummary,
  buildTimeSeries,
} from '../record/summary.js';
import { Timeline } from '../record/timeline.js';
import type { Tuning } from '../record/tuned.js';
import { writeTimeline } from '../record/write-timeline.js';

/** Something that writes while the run goes on: kept if the run succeeds, removed if not. */
interface Log extends RunObserver {
  close(): void;
  discard(): void;
}

interface CollectorOptions {
  /** False: causes of failed requests are not known, as to a client. */
  readonly seesCauses?: boolean;
  /** Percentiles of latency beyond those that every summary has, ascending. */
  readonly percentiles?: readonly number[];
}

/** Collects what a run is asked for while it goes on, on whichever clock, and makes its result of it. */
export class Collector {
  readonly observer: RunObserver;
  private readonly recorder: RunTally;
  private readonly timeline: Timeline | null;
  private readonly logs: readonly Log[];
  private began = performance.now();
  private readonly percentiles: readonly number[];

  constructor(
    private readonly experiment: Experiment,
    private readonly workload: OpenedWorkloads,
    /** Folder, which must exist, for the logs and the timeline that the experiment asks for. */
    private readonly outDir: string | undefined,
    { seesCauses = true, percentiles = [] }: CollectorOptions = {},
  ) {
    const { cluster, models, output } = experiment;
    this.percentiles = percentiles;
    this.recorder = new RunTally({
      gpus: cluster.gpus,
      durationNs: workload.durationNs,
      warmupNs: experiment.warmupNs,
      models,
      sections: workload.sections,
      sectionStarts: workload.sectionStarts,
      seesCauses,
    });
    const slice = output.timelineNs;
    this.timeline = slice === null ? null : new Timeline({ fromNs: slice[0], toNs: slice[1], models });
    this.logs = openLogs(experiment, outDir, this.recorder.causes);
    this.observer = fanOut([this.recorder, ...(this.timeline === null ? [] : [this.timeline]), ...this.logs]);
  }

  /** All is set up: wall time counts from here rather than from the constructor. */
  begin(): void {
    this.began = performance.now();
  }

  /** Follows what the controller's policy tunes by itself. Call it before the run begins. */
  watch(controller: Tuning): void {
    this.recorder.watch(controller);
  }

  /** The run has failed: nothing is left of its logs. */
  discard(): void {
    for (const log of this.logs) log.discard();
  }

  /** The run is over, and its scheduler was seen: closes the logs. `arrivals`: warm-up included. */
  finish(kind: 'simulated' | 'live', digest: string, arrivals: number): ScheduledRun {
    const { experiment, recorder, timeline } = this;
    const { summary, series, setup, ...seen } = this.finishAsClient(kind, arrivals);
    const entries = timeline?.entries() ?? [];
    if (this.outDir !== undefined && timeline !== null) {
      const facts = { seed: experiment.seed, digest, actionsLeftOut: timeline.dropped };
      writeTimeline(join(this.outDir, 'timeline.json'), entries, facts);
    }
    const tuned = recorder.tunedSeries;
    const { kind: policy, plugin } = experiment.policy;
    return {
      ...seen,
      summary: { ...summary, ...buildSchedulerFigures(recorder, { policy, digest }) },
      series: { ...series, ...buildColdStartSeries(recorder) },
      ...(plugin === undefined ? {} : { plugin: { file: plugin.file, digest: plugin.digest } }),
      ...(tuned.length === 0 ? {} : { tuned }),
      timeline: entries,
      setup: { ...setup, ...setupOf(experiment) },
    };
  }

  /** The run is over, and only its answers were seen: closes the logs. `arrivals`: warm-up included. */
  finishAsClient(kind: RunKind, arrivals: number): RunResult & { readonly setup: RunSetup } {
    for (const log of this.logs) log.close();
    const { experiment, recorder, workload } = this;
    const slosMs = workload.sectionSlosNs.map((sloNs) => (sloNs === null ? null : sloNs / NS_PER_MS));
    const { text, overrides } = experiment.source;
    return {
      version: 3,
      experiment: text,
      ...(overrides.length === 0 ? {} : { overrides }),
      summary: buildSummary(
        recorder,
        { name: experiment.name, kind, seed: experiment.seed, wall: wallSince(this.began, arrivals) },
        this.percentiles,
      ),
      sloMs: slosMs.every((sloMs) => sloMs === slosMs[0]) ? slosMs[0] : null,
      groups: buildGroups(recorder, slosMs),
      models: modelFigures(recorder),
      series: buildTimeSeries(recorder),
      latencyCdf: buildLatencyCdf(recorder),
      timeline: [],
      setup: { firstUsers: workload.sectionStarts },
    };
  }
}

function setupOf({ cluster, models }: Experiment): ClusterSetup {
  return {
    gpus: cluster.gpus,
    workers: cluster.workers,
    cachePages: cluster.pages,
    modelPages: models.map(({ pages }) => pages),
    modelInferMs: models.map(({ execNs }) => execNs[0] / NS_PER_MS),
    oneLane: cluster.oneLane,
    overheadMs: cluster.overheadNs / NS_PER_MS,
    clockOffsetMs: cluster.clockOffsetNs / NS_PER_MS,
  };
}

function openLogs(experiment: Experiment, outDir: string | undefined, causes: CauseFinder | null): Log[] {
  const { output, models, cluster } = experiment;
  const logs: Log[] = [];
  if (outDir === undefined) return logs;
  if (output.requestLog) logs.push(new RequestLog(join(outDir, 'requests.tsv'), models, causes));
  if (output.actionLog) logs.push(new ActionLog(join(outDir, 'actions.tsv'), cluster));
  return logs;
}

function wallSince(began: number, arrivals: number) {
  const seconds = (performance.now() - began) / 1000;
  return {
    seconds,
    processedRps: arrivals / seconds,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  };
}
