import { loadExperiment } from '../../config/load.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import { SIMULATED } from '../../run/simulated.js';
import type { SimulateArgs } from '../commands/simulate.js';
import { oneRun } from '../one-run.js';
import { overridesOf } from '../overrides.js';
import { readChecks } from '../thresholds.js';

/** `escapement simulate FILE`: one run, its figures on stdout. */
export async function run(args: SimulateArgs): Promise<void> {
  const checks = readChecks(args);
  const experiment = await loadExperiment(args.file, overridesOf(args));
  refuseUnknownSenders(checks.thresholds, [experiment], 'threshold');
  await oneRun('simulate', { experiment, engine: SIMULATED, checks }, args);
}
