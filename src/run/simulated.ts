import type { Experiment } from '../config/experiment.js';
import type { ScheduledRun } from '../record/results.js';
import { type Engine, type RunOptions, run } from './run.js';
import { refuseUnanswered, simulatorOf } from './simulation.js';

/** Simulated GPUs in this thread, in virtual time. */
export const SIMULATED: Engine = {
  kind: 'simulated',
  async drive({ experiment, source, observer, scaling, begin, watch, onProgress }) {
    begin();
    const simulator = simulatorOf(experiment, source, observer, scaling);
    watch(simulator.controller);
    await simulator.run(onProgress);
    refuseUnanswered(experiment, simulator.controller.requests.size);
    return { digest: simulator.controller.digest, arrivals: simulator.arrivals, live: null };
  },
};

/**
 * Runs one experiment against simulated GPUs in this thread. The same experiment always gives the same result, except
 * for `summary.wall`. Throws coded errors for bad input, some only while running, e.g. for a streamed trace.
 */
export async function simulate(experiment: Experiment, options: RunOptions = {}): Promise<ScheduledRun> {
  return (await run(experiment, SIMULATED, options)).result;
}
