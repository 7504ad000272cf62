import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import type { RunSetup } from '../results.js';

/** Where the logs of a run are, and what they do not contain. */
export interface RunLogs {
  readonly requests: string;
  readonly actions: string;
  readonly setup: Required<RunSetup>;
}

/** Finds the logs in the `--out` folder of a run. Throws `E_RESULTS` where one is missing. */
export function runLogs(dir: string, setup: RunSetup | undefined): RunLogs {
  const [requests, actions] = [join(dir, 'requests.tsv'), join(dir, 'actions.tsv')];
  const missing = [requests, actions].find((path) => !existsSync(path));
  if (missing !== undefined || setup === undefined || !isOfScheduler(setup)) {
    const what =
      'needs both requests.tsv and actions.tsv; run the experiment again with output.requestLog and output.actionLog (load writes no actions.tsv: use replay with the journal of the server)';
    throw new EscapementError('E_RESULTS', what, { file: dir });
  }
  return { requests, actions, setup };
}

/** A client knows nothing of the cluster. */
function isOfScheduler(setup: RunSetup): setup is Required<RunSetup> {
  return setup.gpus !== undefined;
}
