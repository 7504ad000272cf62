import { EscapementError } from '../base/errors.js';
import { createPolicyOf } from '../config/create-policy.js';
import type { Experiment } from '../config/experiment.js';
import type { ScheduledRun } from '../record/results.js';
import { Simulator } from '../sim/simulator.js';
import type { Engine } from './engine.js';
import { type RunOptions, run } from './run.js';

/** Simulated GPUs in this thread, in virtual time. */
export const SIMULATED: Engine = {
  kind: 'simulated',
  async drive({ experiment, source, observer, begin, watch, onProgress }) {
    begin();
    const { cluster, models } = experiment;
    const simulator = new Simulator({
      ...cluster,
      models,
      spreads: cluster.noise.distribution === 'profile' ? experiment.spreads : null,
      exponential: cluster.noise.distribution === 'exponential',
      defaultSloNs: experiment.sloNs,
      createPolicy: createPolicyOf(experiment.policy),
      admission: experiment.admission,
      ...(experiment.missedWindow === null ? {} : { missedWindow: experiment.missedWindow }),
      source,
      seed: experiment.seed,
      observer,
      checks: experiment.checks,
    });
    watch(simulator.controller);
    await simulator.run(onProgress);
    refuseUnanswered(experiment, simulator.controller.requests.size);
    return { digest: simulator.controller.digest, arrivals: simulator.arrivals, live: null };
  },
};

/**
 * Runs one experiment against simulated GPUs in this thread. The same experiment always gives the same result, except
 * for `summary.wall`. Throws coded errors for bad input, also for what is noticed only while running, e.g. in a trace
 * that is streamed.
 */
export async function simulate(experiment: Experiment, options: RunOptions = {}): Promise<ScheduledRun> {
  return (await run(experiment, SIMULATED, options)).result;
}

/** A policy of a plugin may keep requests for ever, though nothing happens any more. */
function refuseUnanswered({ policy: { kind, plugin } }: Experiment, requests: number): void {
  if (plugin === undefined || requests === 0) return;
  const what = `the policy ${kind} left ${requests} requests without an answer: it must send or refuse them, or admit must return a time at which they are given up`;
  throw new EscapementError('E_PLUGIN', what, { file: plugin.file });
}
