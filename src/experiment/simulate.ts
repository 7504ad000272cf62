import type { RunResult } from '../metrics/results.js';
import { Simulator } from '../sim/simulator.js';
import { Collector } from './collector.js';
import { createPolicyOf } from './create-policy.js';
import type { Experiment } from './experiment.js';
import { openWorkloads } from './open-workloads.js';

export interface SimulateOptions {
  /** Folder, which must exist, for the logs and the timeline that the experiment asks for. */
  readonly outDir?: string;
  /** Called now and then with the share of the workload's nominal duration that has passed, and waited for. */
  readonly onProgress?: (fraction: number) => void | Promise<void>;
}

/**
 * Runs one experiment against simulated GPUs in this thread. The same experiment always gives the same result,
 * except for `summary.wall`. Throws coded errors for bad input that is only met while running, e.g. in
 * a trace that is streamed.
 */
export async function simulate(experiment: Experiment, options: SimulateOptions = {}): Promise<RunResult> {
  const { cluster, models } = experiment;
  const workload = await openWorkloads(experiment);
  const collector = new Collector(experiment, workload, options.outDir);
  const simulator = new Simulator({
    ...cluster,
    models,
    spreads: cluster.noise.distribution === 'profile' ? experiment.spreads : null,
    defaultSloNs: experiment.sloNs,
    createPolicy: createPolicyOf(experiment.policy),
    admission: experiment.admission,
    source: workload.source,
    seed: experiment.seed,
    observer: collector.observer,
    checks: experiment.checks,
  });
  collector.watch(simulator.controller);
  try {
    await simulator.run((nowNs) => options.onProgress?.(Math.min(1, nowNs / workload.durationNs)));
  } catch (error) {
    collector.discard();
    throw error;
  }
  return collector.finish(simulator.controller.digest, simulator.arrivals);
}
