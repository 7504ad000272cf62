import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Experiment } from '../experiment/experiment.js';

/**
 * Names a cell's result by everything that decides it: the checked experiment after defaults and
 * overrides (so with the figures of every model), the size and time of change of each trace, and the
 * version of the program. A result under this key can be used again; anything else cannot.
 */
export function cellKey(experiment: Experiment, version: string): string {
  const traces = experiment.workloads.flatMap((workload) =>
    'path' in workload ? [fingerprint(workload.path)] : [],
  );
  const hash = createHash('sha256');
  // Neither where the experiment file lies, its comments nor how it would run live matter, but what it says of
  // the simulation. JSON has no Infinity.
  const { file: _, source: __, modelFiles: ___, live: ____, ...said } = experiment;
  hash.update(JSON.stringify(said, (_key, value) => (value === Infinity ? 'Infinity' : value)));
  hash.update(JSON.stringify([version, traces]));
  return hash.digest('hex').slice(0, 32);
}

function fingerprint(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? `${path} is missing` : `${path} ${stats.size} ${stats.mtimeMs}`;
}
