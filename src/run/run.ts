import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import type { RunObserver } from '../core/observer.js';
import { fanOut } from '../record/fan-out.js';
import type { ScheduledRun } from '../record/results.js';
import { Collector } from './collector.js';
import type { Engine, LiveReport } from './engine.js';
import { peakRssBytes } from './peak-memory.js';
import { RunLogs } from './run-logs.js';
import { openScaling } from './scaling.js';

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
