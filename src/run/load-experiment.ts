import type { Experiment } from '../config/experiment.js';
import { openWorkloads } from '../config/open-workloads.js';
import { generatorFigures, type PlayCounts, type PlayReport, play } from '../load/player.js';
import type { LoadTarget } from '../load/target.js';
import { fanOut } from '../record/fan-out.js';
import type { RunResult } from '../record/results.js';
import { Collector } from './collector.js';
import { peakRssBytes, type RunOptions } from './run.js';
import { RunLogs } from './run-logs.js';

interface LoadOptions extends Pick<RunOptions, 'outDir' | 'percentiles'> {
  /** Called a few times a second with the elapsed share of the workload's nominal duration. */
  readonly onProgress?: (fraction: number, counts: PlayCounts, nowNs: number) => void;
}

export interface LoadResult {
  readonly result: RunResult;
  /** Report on the load generator itself. */
  readonly report: PlayReport;
}

/**
 * Plays an experiment's workload against a server in real time: the same requests, in the same order, as `simulate`.
 * The result is a client's: outcomes and latencies by its own clock, without figures that only the scheduler knows.
 * Throws coded errors for bad input.
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
    await logs?.writeParquet();
    const { waited, retries } = target;
    const again = retries === undefined ? {} : { retries };
    const generator = { ...generatorFigures(report, waited), ...again, unanswered: report.unanswered };
    return { result: { ...result, summary: { ...summary, answers: report.answers, generator } }, report };
  } catch (error) {
    logs?.discard();
    throw error;
  }
}

/** The experiment as far as a client can observe it. */
function asClient(experiment: Experiment): Experiment {
  return { ...experiment, output: { ...experiment.output, actionLog: false, timeline: null } };
}
