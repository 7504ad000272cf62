import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Experiment } from '../../config/experiment.js';

/**
 * Names a cell's result by everything that decides it: the checked experiment after defaults and
 * overrides (so with the figures of every model), the size and time of change of each trace, the version
 * of the program, and the further percentiles that it has. A result under this key can be used again;
 * anything else cannot.
 */
export function cellKey(experiment: Experiment, version: string, percentiles: readonly number[]): string {
  // Neither where the experiment file lies, its comments nor how it would run live matter, but what it says of
  // the simulation.
  const { file: _, source: __, modelFiles: ___, live: ____, runtime: _____, ...said } = experiment;
  const { kind, options, plugin } = experiment.policy;
  // What its file is called does not matter, but every change of it does.
  const policy = { kind, options, ...(plugin === undefined ? {} : { plugin: plugin.digest }) };
  return keyOf({ ...said, policy, percentiles }, experiment, version);
}

/** Names what `boundOf` says of an experiment, by what that depends on: cells of several policies share it. */
export function boundKey(experiment: Experiment, version: string): string {
  const { seed, models, workloads, sloNs, warmupNs, cluster, policy } = experiment;
  const { gpus, gpuClock, noise } = cluster;
  const { maxBatch } = policy.options;
  const said = { seed, models, workloads, sloNs, warmupNs, gpus, gpuClock, profile: noise.profile, maxBatch };
  return keyOf(said, experiment, version);
}

function keyOf(said: object, { workloads }: Experiment, version: string): string {
  const traces = workloads.flatMap((workload) => ('path' in workload ? [fingerprint(workload.path)] : []));
  const hash = createHash('sha256');
  // JSON has no Infinity.
  hash.update(JSON.stringify(said, (_key, value) => (value === Infinity ? 'Infinity' : value)));
  hash.update(JSON.stringify([version, traces]));
  return hash.digest('hex').slice(0, 32);
}

function fingerprint(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? `${path} is missing` : `${path} ${stats.size} ${stats.mtimeMs}`;
}
