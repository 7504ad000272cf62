import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import { generatorFigures, type PlayCounts, type PlayReport, play } from '../load/player.js';
import type { LoadTarget } from '../load/target.js';
import { fanOut } from '../record/fan-out.js';
import type { RunResult } from '../record/results.js';
import { Collector } from './collector.js';
import { peakRssBytes } from './peak-memory.js';
import { RunLogs } from './run-logs.js';

interface LoadOptions {
  /** Folder, which must exist, for the request log if the experiment asks for it. */
  readonly outDir?: string;
  /** Percentiles that the summary shall have beyond those that every summary has, ascending. */
  readonly percentiles?: readonly number[];
  /** Called a few times a second with the share of the workload's nominal duration that has passed. */
  readonly onProgress?: (fraction: number, counts: PlayCounts, nowNs: number) => void;
}

export interface LoadResult {
  readonly result: RunResult;
  /** What the load generator tells of itself. */
  readonly report: PlayReport;
}

/**
 * Plays an experiment's workload against a server in real time: the same requests, in the same order, that
 * `simulate` plays. The result is that of a client: outcomes and latencies by its own clock, and nothing of what the
 * scheduler alone can tell. Throws coded errors for bad input.
 */
export async function playExperiment(
  experiment: Experiment,
  target: LoadTarget,
  options: LoadOptions = {},
): Promise<LoadResult> {
  const workload = await openWorkloads(experiment);
  const { outDir, percentiles = [] } = options;
  const seen = asClient(experiment);
  const collector = new Collector(seen, workload, { seesScheduler: false, percentiles, peakRssBytes });
  const logs = outDir === undefined ? null : new RunLogs(seen, outDir, collector);
  try {
    const report = await play({
      source: workload.source,
      target,
      observer: fanOut([...collector.observers, ...(logs?.observers ?? [])]),
      warmupNs: experiment.warmupNs,
      onProgress: (nowNs, counts) =>
        options.onProgress?.(Math.min(1, nowNs / workload.durationNs), counts, nowNs),
    });
    logs?.close();
    const { summary, ...result } = collector.finishAsClient('load', report.requests);
    const { waited, retries } = target;
    const again = retries === undefined ? {} : { retries };
    const generator = { ...generatorFigures(report, waited), ...again, unanswered: report.unanswered };
    return { result: { ...result, summary: { ...summary, answers: report.answers, generator } }, report };
  } catch (error) {
    logs?.discard();
    throw error;
  }
}

/** What a client can observe of the experiment. */
function asClient(experiment: Experiment): Experiment {
  const { requestLog } = experiment.output;
  return {
    ...experiment,
    output: { requestLog, actionLog: false, timeline: null },
  };
}
