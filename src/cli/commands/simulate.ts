import { experimentFile, outputFlags, overrideFlags, thresholdFlags } from '../common-options.js';
import type { ValuesOf } from '../options.js';

export const simulateOptions = {
  ...overrideFlags,
  ...outputFlags('Also write summary, logs and timeline to this folder'),
  ...thresholdFlags,
};

export const flags = {
  file: experimentFile,
  ...simulateOptions,
};
export const examples = [
  'simulate experiments/azure.yaml --out out/azure-run',
  'simulate experiments/isolation.yaml --set policy.kind=fifo',
  "simulate run.yaml --seed 2 --json --threshold 'p99<100ms'",
];
export const notes = 'Keys of the experiment file and policies: escapement keys [PREFIX]';

/** `escapement simulate FILE`: one run, its figures on stdout. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { SIMULATED } = await import('../../run/simulated.js');
  const { oneRun } = await import('../one-run.js');
  const { openChecked } = await import('../thresholds.js');
  await oneRun('simulate', await openChecked(args), SIMULATED, args);
}
