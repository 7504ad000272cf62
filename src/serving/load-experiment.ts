import { Collector } from '../experiment/collector.js';
import type { Experiment } from '../experiment/experiment.js';
import { openWorkloads } from '../experiment/open-workloads.js';
import { type PlayReport, play } from '../live/load/player.js';
import type { LoadTarget } from '../live/load/target.js';
import type { RunResult } from '../metrics/results.js';

export interface LoadOptions {
  /** Folder, which must exist, for the request log if the experiment asks for it. */
  readonly outDir?: string;
  /** Called a few times a second with the share of the workload's nominal duration that has passed. */
  readonly onProgress?: (fraction: number) => void;
}

export interface LoadResult {
  readonly result: RunResult;
  /** What the load generator tells of itself. */
  readonly report: PlayReport;
}

/** The digest of a run whose decisions were not seen. */
const NO_DIGEST = '0'.repeat(16);

/**
 * Plays an experiment's workload against a server in real time: the same requests, in the same order, that
 * `simulate` plays. The result is that of a client: outcomes and latencies by its own clock, but no actions, cold
 * starts or digest, and the policy is called `remote`. Throws coded errors for bad input.
 */
export async function playExperiment(
  experiment: Experiment,
  target: LoadTarget,
  options: LoadOptions = {},
): Promise<LoadResult> {
  const workload = await openWorkloads(experiment);
  const collector = new Collector(asClient(experiment), workload, options.outDir);
  try {
    const report = await play({
      source: workload.source,
      target,
      observer: collector.observer,
      onProgress: (nowNs) => options.onProgress?.(Math.min(1, nowNs / workload.durationNs)),
    });
    return { result: collector.finish(NO_DIGEST, report.requests), report };
  } catch (error) {
    collector.discard();
    throw error;
  }
}

/** What a client can observe of the experiment. */
function asClient(experiment: Experiment): Experiment {
  const { requestLog } = experiment.output;
  return {
    ...experiment,
    policy: { kind: 'remote', options: {} },
    output: { requestLog, actionLog: false, timelineNs: null },
  };
}
