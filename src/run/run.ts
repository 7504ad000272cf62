import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import type { ArrivalSource } from '../core/arrivals.js';
import type { RunObserver } from '../core/observer.js';
import type { PlayReport } from '../load/player.js';
import { fanOut } from '../record/fan-out.js';
import type { Histogram } from '../record/histogram.js';
import type { GeneratorFigures, RunEvent, ScheduledRun } from '../record/results.js';
import type { Tuning } from '../record/tuned.js';
import { Collector } from './collector.js';
import { RunLogs } from './run-logs.js';
import { openScaling, type Scaling } from './scaling.js';

/** Largest resident memory of this process so far. */
export function peakRssBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Drives the scheduler through an experiment, on one kind of clock. */
export interface Engine {
  readonly kind: 'simulated' | 'live';
  drive(task: EngineTask): Promise<EngineReport>;
}

/** One run, as given to an engine. */
export interface EngineTask {
  readonly experiment: Experiment;
  readonly source: ArrivalSource;
  /** Sees requests and actions end. */
  readonly observer: RunObserver;
  /** Decides the number of GPUs, and which fail; null: all are there throughout. */
  readonly scaling: Scaling | null;
  /** Add GPUs that are lost. */
  readonly events: RunEvent[];
  /** Existing folder for the engine's own records; absent: none. */
  readonly outDir: string | undefined;
  /** Call once, when everything is set up: wall time counts from here. */
  begin(): void;
  /** Call once, before the first event, with the controller that decides. */
  watch(controller: Tuning): void;
  /** Call periodically with the time of the run, and await it where possible. */
  onProgress(nowNs: number): void | Promise<void>;
}

export interface EngineReport {
  /** Digest of all decisions. */
  readonly digest: string;
  /** Number of requests, warm-up included. */
  readonly arrivals: number;
  /** Null if simulated. */
  readonly live: LiveReport | null;
}

/** Report on a run in real time. */
export interface LiveReport {
  readonly generator: GeneratorFigures;
  /** Report of the request generator. */
  readonly played: PlayReport;
  /** Device errors, each message once. */
  readonly deviceErrors: readonly string[];
  /** Lateness of each of the controller's timers, ns. */
  readonly wakeLateness: Histogram;
  /** Path of the journal, if requested. */
  readonly journal: string | null;
}

export interface RunOptions {
  /** Existing folder for the logs and the timeline that the experiment requests. */
  readonly outDir?: string;
  /** Further percentiles for the summary, ascending. */
  readonly percentiles?: readonly number[];
  /** Called periodically with the elapsed share of the workload's nominal duration. A simulation waits for it. */
  readonly onProgress?: (fraction: number) => void | Promise<void>;
  /** Also sees requests and actions end. */
  readonly observer?: RunObserver;
}

/** One run of an experiment, on either engine. */
interface Run {
  readonly result: ScheduledRun;
  /** Report on a run in real time; null: simulated. */
  readonly live: LiveReport | null;
}

/** Runs one experiment. Throws coded errors for bad input and missing devices; then no log is left. */
export async function run(experiment: Experiment, engine: Engine, options: RunOptions = {}): Promise<Run> {
  const { outDir, percentiles = [], onProgress, observer } = options;
  const workload = await openWorkloads(experiment);
  const collector = new Collector(experiment, workload, { percentiles, peakRssBytes });
  const logs = outDir === undefined ? null : new RunLogs(experiment, outDir, collector);
  try {
    const fleetObservers = [collector.fleet, logs?.fleet ?? null].filter((each) => each !== null);
    const scaling = await openScaling(experiment, workload.durationNs, collector.failures, fleetObservers);
    const { digest, arrivals, live } = await engine.drive({
      experiment,
      source: workload.source,
      scaling,
      observer: fanOut([
        ...(scaling?.autoscaler ? [scaling.autoscaler] : []),
        ...collector.observers,
        ...(logs?.observers ?? []),
        ...(observer === undefined ? [] : [observer]),
      ]),
      events: collector.events,
      outDir,
      begin: () => collector.begin(),
      watch: (controller) => collector.watch(controller),
      onProgress: (nowNs) => onProgress?.(Math.min(1, nowNs / workload.durationNs)),
    });
    logs?.close();
    const result = collector.finish(engine.kind, digest, arrivals);
    logs?.writeTimeline(result);
    await logs?.writeParquet();
    if (live === null) return { result, live };
    return { result: { ...result, summary: { ...result.summary, generator: live.generator } }, live };
  } catch (error) {
    logs?.discard();
    throw error;
  }
}
