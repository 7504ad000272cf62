import { EscapementError } from '../../base/errors.js';
import { entryOf } from '../../config/create-policy.js';
import type { Experiment } from '../../config/experiment.js';
import { loadExperiment } from '../../config/load.js';
import { environmentOverrides } from '../../config/runtime-settings.js';
import { LIVE_MISSED_WINDOW } from '../../core/retry.js';
import { refuseUnknownSenders } from '../../record/known-senders.js';
import type { Engine } from '../../run/engine.js';
import type { RunArgs } from '../commands/run.js';
import { experimentWarnings, warn } from '../live-settings.js';
import { oneRun } from '../one-run.js';
import { overridesOf } from '../overrides.js';
import { readChecks } from '../thresholds.js';

/** `escapement run FILE --mode live`: one experiment, by either engine. */
export async function run(args: RunArgs): Promise<void> {
  const checks = readChecks(args);
  const isLive = args.mode === 'live';
  if (args.journal !== undefined && !isLive) {
    const what = '--journal requires --mode live; a simulation can simply be run again';
    throw new EscapementError('E_USAGE', what);
  }
  // A simulation is the same wherever it runs.
  const environment = isLive ? environmentOverrides(process.env) : [];
  const experiment = retrying(await loadExperiment(args.file, overridesOf(args), [], environment));
  refuseUnknownSenders(checks.thresholds, [experiment], 'threshold');
  if (isLive) await warnOfLive(args, experiment);
  await oneRun('run', { experiment, engine: await engineOf(args), checks }, args);
}

async function engineOf({ mode, journal }: RunArgs): Promise<Engine> {
  if (mode === 'simulate') return (await import('../../run/simulated.js')).SIMULATED;
  const { live } = await import('../../run/live.js');
  return live(journal === undefined ? {} : { journal });
}

async function warnOfLive({ file, set }: RunArgs, experiment: Experiment): Promise<void> {
  warn(await experimentWarnings(file, set));
  const { slowModelsWarning, timedModels } = await import('../../serve/slow-models.js');
  const { policy } = experiment;
  const nothing = entryOf(policy)?.whyServesNothing?.(policy.options) ?? null;
  if (nothing !== null) warn([nothing]);
  const slow = slowModelsWarning(timedModels(experiment));
  if (slow !== null) warn([slow]);
}

/**
 * The experiment with what real time does about missed windows, so that the results of both engines can be compared. It
 * is an override, so that the command that a report gives repeats the run.
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
