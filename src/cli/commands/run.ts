import type { Experiment } from '../../config/experiment.js';
import { LIVE_MISSED_WINDOW } from '../../core/retry.js';
import { warn } from '../../text/terminal.js';
import { experimentFile } from '../common-options.js';
import { choice, group, usageError, type ValuesOf } from '../options.js';
import { journalFlag } from '../server-options.js';
import { simulateOptions } from './simulate.js';

export const flags = {
  file: experimentFile,
  ...group('Mode', {
    mode: choice(['live', 'simulate']).or('live', 'Run in real time, or in simulation for comparison'),
    journal: journalFlag,
  }),
  ...simulateOptions,
};
export const examples = [
  'run experiments/live/two-models.yaml --out out/live',
  'run experiments/live/two-models.yaml --mode simulate --out out/simulated',
  'compare out/simulated out/live',
];
export const notes = [
  'live.device of the experiment names the device. --mode simulate is escapement simulate with the missedWindow of live ' +
    'runs, for comparison. To play an experiment against a running server: escapement load.',
].join('\n\n');

type Args = ValuesOf<typeof flags>;

/** `escapement run FILE --mode live`: one experiment, on either engine. */
export async function handler(args: Args): Promise<void> {
  const { environmentOverrides } = await import('../../config/runtime-settings.js');
  const { oneRun } = await import('../one-run.js');
  const { openChecked } = await import('../thresholds.js');
  const isLive = args.mode === 'live';
  if (args.journal !== undefined && !isLive)
    throw usageError('--journal requires --mode live; a simulation can simply be run again');
  // A simulation gives the same result everywhere.
  const opened = await openChecked(args, isLive ? environmentOverrides(process.env) : []);
  const experiment = retrying(opened.experiment);
  if (isLive) await warnOfLive(args, experiment);
  const engine = isLive
    ? (await import('../../run/live.js')).live(args.journal)
    : (await import('../../run/simulated.js')).SIMULATED;
  await oneRun('run', { ...opened, experiment }, engine, args);
}

async function warnOfLive({ file, set }: Args, experiment: Experiment): Promise<void> {
  const { entryOf } = await import('../../config/create-policy.js');
  const { experimentWarnings } = await import('../live-settings.js');
  const { slowModelsWarning, timedModels } = await import('../../serve/slow-models.js');
  warn(await experimentWarnings(file, set));
  const { policy } = experiment;
  const nothing = entryOf(policy)?.whyServesNothing?.(policy.options);
  warn([nothing, slowModelsWarning(timedModels(experiment))].filter((warning) => warning != null));
}

/**
 * Handles missed windows as in real time, so that the results of both engines can be compared. An override, so that the
 * command in the report repeats the run.
 */
function retrying(experiment: Experiment): Experiment {
  if (experiment.missedWindow !== null) return experiment;
  const { text, overrides } = experiment.source;
  return {
    ...experiment,
    missedWindow: LIVE_MISSED_WINDOW,
    source: { text, overrides: [...overrides, `missedWindow=${LIVE_MISSED_WINDOW}`] },
  };
}
