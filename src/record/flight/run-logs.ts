import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import type { RunSetup } from '../results.js';
import { readActions } from './action-log-reader.js';
import { readRequests } from './request-log-reader.js';
import type { RunRows } from './run-rows.js';

/** Rows of the logs in the `--out` folder of a run. Throws `E_RESULTS` if one is missing, and while they are read. */
export function runLogs(dir: string, setup: RunSetup | undefined): RunRows {
  const [requests, actions] = [join(dir, 'requests.tsv'), join(dir, 'actions.tsv')];
  const missing = [requests, actions].find((path) => !existsSync(path));
  if (missing !== undefined || setup === undefined || !isOfScheduler(setup)) {
    const what =
      'needs both requests.tsv and actions.tsv; run the experiment again with output.requestLog and output.actionLog (load writes no actions.tsv: use replay with the journal of the server)';
    throw new EscapementError('E_RESULTS', what, { file: dir });
  }
  return {
    requests: (visit) => readRequests(requests, visit),
    actions: (visit) => readActions(actions, setup, visit),
    setup,
  };
}

/** False for a run recorded by a client, which knows nothing of the cluster. */
function isOfScheduler(
  setup: RunSetup,
): setup is Required<Omit<RunSetup, 'kinds'>> & Pick<RunSetup, 'kinds'> {
  return setup.gpus !== undefined;
}
