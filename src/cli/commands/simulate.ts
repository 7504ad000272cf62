import type { Argv } from 'yargs';
import {
  experimentFile,
  outputFlags,
  overrideFlags,
  overridesOf,
  thresholdFlags,
} from '../common-options.js';
import type { ArgsOf } from '../options.js';

export const simulateOptions = {
  ...overrideFlags,
  ...outputFlags('Also write summary, logs and timeline to this folder'),
  ...thresholdFlags,
};

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options(simulateOptions)
    .example([
      ['$0 simulate experiments/azure.yaml --out out/azure-run', ''],
      ['$0 simulate experiments/isolation.yaml --set policy.kind=fifo', ''],
      ["$0 simulate run.yaml --seed 2 --json --threshold 'p99<100ms'", ''],
    ])
    .epilogue('Keys of the experiment file and policies: escapement keys [PREFIX]');

/** `escapement simulate FILE`: one run, its figures on stdout. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { SIMULATED } = await import('../../run/simulated.js');
  const { oneRun } = await import('../one-run.js');
  const { readChecks, refuseUnknown } = await import('../thresholds.js');
  const checks = readChecks(args);
  const experiment = await loadExperiment(args.file, overridesOf(args));
  refuseUnknown(checks, experiment);
  await oneRun('simulate', { experiment, engine: SIMULATED, checks }, args);
}
