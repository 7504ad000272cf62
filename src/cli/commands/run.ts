import type { Argv } from 'yargs';
import type { Experiment } from '../../config/experiment.js';
import { LIVE_MISSED_WINDOW } from '../../core/retry.js';
import type { Engine } from '../../run/engine.js';
import { warn } from '../../text/terminal.js';
import { experimentFile, overridesOf } from '../common-options.js';
import { type ArgsOf, choiceOr, group, usageError } from '../options.js';
import { journalFlag } from '../server-options.js';
import { simulateOptions } from './simulate.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Mode', {
        mode: choiceOr(['live', 'simulate'], 'live', 'Run in real time, or in simulation for comparison'),
        journal: journalFlag,
      }),
      ...simulateOptions,
    })
    .example([
      ['$0 run experiments/live/two-models.yaml --out out/live', ''],
      ['$0 run experiments/live/two-models.yaml --mode simulate --out out/simulated', ''],
      ['$0 compare out/simulated out/live', ''],
    ])
    .epilogue(
      [
        'The section live of the experiment names the device. --mode simulate is escapement simulate with the ' +
          'missedWindow of live runs, unless the file sets its own, so that both results can be compared.',
        'To play an experiment against a server that runs already, ours or any other: escapement load.',
      ].join('\n\n'),
    );

type Args = ArgsOf<typeof builder>;

/** `escapement run FILE --mode live`: one experiment, on either engine. */
export async function handler(args: Args): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { environmentOverrides } = await import('../../config/runtime-settings.js');
  const { oneRun } = await import('../one-run.js');
  const { readChecks, refuseUnknown } = await import('../thresholds.js');
  const checks = readChecks(args);
  const isLive = args.mode === 'live';
  if (args.journal !== undefined && !isLive)
    throw usageError('--journal requires --mode live; a simulation can simply be run again');
  // A simulation gives the same result everywhere.
  const environment = isLive ? environmentOverrides(process.env) : [];
  const experiment = retrying(await loadExperiment(args.file, overridesOf(args), [], environment));
  refuseUnknown(checks, experiment);
  if (isLive) await warnOfLive(args, experiment);
  await oneRun('run', { experiment, engine: await engineOf(args), checks }, args);
}

async function engineOf({ mode, journal }: Args): Promise<Engine> {
  if (mode === 'simulate') return (await import('../../run/simulated.js')).SIMULATED;
  const { live } = await import('../../run/live.js');
  return live(journal === undefined ? {} : { journal });
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
