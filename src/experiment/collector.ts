import { join } from 'node:path';
import type { RunObserver } from '../core/observer.js';
import { NS_PER_MS } from '../core/units.js';
import { ActionLog } from '../metrics/action-log.js';
import { writeChromeTrace } from '../metrics/chrome-trace.js';
import { fanOut } from '../metrics/fan-out.js';
import { Recorder } from '../metrics/recorder.js';
import { RequestLog } from '../metrics/request-log.js';
import type { RunResult, RunSetup } from '../metrics/results.js';
import { buildGroups, buildLatencyCdf, buildSummary, buildTimeSeries } from '../metrics/summary.js';
import { Timeline } from '../metrics/timeline.js';
import type { Tuning } from '../metrics/tuned.js';
import type { Experiment } from './experiment.js';
import type { OpenedWorkloads } from './open-workloads.js';

/** Something that writes while the run goes on: kept if the run succeeds, removed if not. */
interface Log extends RunObserver {
  close(): void;
  discard(): void;
}

/** Collects what a run is asked for while it goes on, on whichever clock, and makes its result of it. */
export class Collector {
  readonly observer: RunObserver;
  private readonly recorder: Recorder;
  private readonly timeline: Timeline | null;
  private readonly logs: readonly Log[];
  private readonly began = performance.now();

  constructor(
    private readonly experiment: Experiment,
    private readonly workload: OpenedWorkloads,
    /** Folder, which must exist, for the logs and the timeline that the experiment asks for. */
    private readonly outDir: string | undefined,
  ) {
    const { cluster, models, output } = experiment;
    this.recorder = new Recorder({
      gpus: cluster.gpus,
      durationNs: workload.durationNs,
      warmupNs: experiment.warmupNs,
      models,
      sections: workload.sections,
      sectionStarts: workload.sectionStarts,
    });
    const slice = output.timelineNs;
    this.timeline = slice === null ? null : new Timeline({ fromNs: slice[0], toNs: slice[1], models });
    this.logs = openLogs(experiment, outDir);
    this.observer = fanOut([this.recorder, ...(this.timeline === null ? [] : [this.timeline]), ...this.logs]);
  }

  /** Follows what the controller's policy tunes by itself. Call it before the run begins. */
  watch(controller: Tuning): void {
    this.recorder.watch(controller);
  }

  /** The run has failed: nothing is left of its logs. */
  discard(): void {
    for (const log of this.logs) log.discard();
  }

  /** The run is over: closes its logs. */
  finish(digest: string, arrivals: number): RunResult {
    for (const log of this.logs) log.close();
    const { experiment, recorder, timeline, workload } = this;
    const summary = buildSummary(recorder, {
      name: experiment.name,
      seed: experiment.seed,
      digest,
      policy: experiment.policy.kind,
      wall: wallSince(this.began, arrivals),
    });
    const entries = timeline?.entries() ?? [];
    if (this.outDir !== undefined && timeline !== null) {
      const facts = { seed: experiment.seed, digest: summary.digest, actionsLeftOut: timeline.dropped };
      writeChromeTrace(join(this.outDir, 'timeline.json'), entries, facts);
    }
    const slosMs = workload.sectionSlosNs.map((sloNs) => (sloNs === null ? null : sloNs / NS_PER_MS));
    const { text, overrides } = experiment.source;
    const tuned = recorder.tunedSeries;
    return {
      version: 1,
      experiment: text,
      ...(overrides.length === 0 ? {} : { overrides }),
      summary,
      sloMs: slosMs.every((sloMs) => sloMs === slosMs[0]) ? slosMs[0] : null,
      groups: buildGroups(recorder, slosMs),
      series: buildTimeSeries(recorder),
      ...(tuned.length === 0 ? {} : { tuned }),
      latencyCdf: buildLatencyCdf(recorder),
      timeline: entries,
      setup: setupOf(experiment, workload),
    };
  }
}

function setupOf({ cluster, models }: Experiment, { sectionStarts }: OpenedWorkloads): RunSetup {
  return {
    gpus: cluster.gpus,
    cachePages: cluster.pages,
    modelPages: models.map(({ pages }) => pages),
    firstUsers: sectionStarts,
    oneLane: cluster.oneLane,
    overheadMs: cluster.overheadNs / NS_PER_MS,
    clockOffsetMs: cluster.clockOffsetNs / NS_PER_MS,
  };
}

function openLogs(experiment: Experiment, outDir: string | undefined): Log[] {
  const { output, models, cluster } = experiment;
  const logs: Log[] = [];
  if (outDir === undefined) return logs;
  if (output.requestLog) logs.push(new RequestLog(join(outDir, 'requests.tsv'), models));
  if (output.actionLog) logs.push(new ActionLog(join(outDir, 'actions.tsv'), cluster));
  return logs;
}

function wallSince(began: number, arrivals: number) {
  const seconds = (performance.now() - began) / 1000;
  return {
    seconds,
    requestsPerSecond: arrivals / seconds,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  };
}
