import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileDigest } from '../../base/files/file-digest.js';
import type { Experiment } from '../../config/experiment.js';

/** Under which names a result is kept. */
export interface ResultKeys {
  /** Made of all that decides the result, so that it is the same on every machine. */
  readonly key: string;
  /** The name that earlier programs gave it, with paths and times: their folders are read, too. */
  readonly formerKey: string;
}

/**
 * Names a cell's result by everything that decides it: the checked experiment after defaults and
 * overrides (so with the figures of every model), the bytes of each trace, the version of the program, and the
 * further percentiles that it has. A result under this key can be used again; anything else cannot.
 */
export function cellKeys(
  experiment: Experiment,
  version: string,
  percentiles: readonly number[],
): ResultKeys {
  // Neither where the experiment file lies, its comments nor how it would run live matter, but what it says of
  // the simulation.
  const {
    file: _,
    source: __,
    modelFiles: ___,
    live: ____,
    runtime: _____,
    warnings: _______,
    ...said
  } = experiment;
  const { kind, options, plugin } = experiment.policy;
  // What its file is called does not matter, but every change of it does.
  const policy = { kind, options, ...(plugin === undefined ? {} : { plugin: plugin.digest }) };
  const { name: ______, ...decides } = { ...said, policy, percentiles };
  return {
    key: contentKey(decides, version),
    formerKey: formerKey({ ...said, policy, percentiles }, version),
  };
}

/** Names what `boundOf` says of an experiment, by what that depends on: cells of several policies share it. */
export function boundKeys(experiment: Experiment, version: string): ResultKeys {
  const { seed, models, workloads, sloNs, warmupNs, cluster, policy } = experiment;
  const { gpus, gpuClock, noise } = cluster;
  const { maxBatch } = policy.options;
  const said = { seed, models, workloads, sloNs, warmupNs, gpus, gpuClock, profile: noise.profile, maxBatch };
  return { key: contentKey(said, version), formerKey: formerKey(said, version) };
}

type Said = Readonly<Record<string, unknown>> & Pick<Experiment, 'workloads'>;

function contentKey(said: Said, version: string): string {
  const workloads = said.workloads.map((workload) => {
    if (!('path' in workload)) return workload;
    const { path, ...rest } = workload;
    return { ...rest, trace: traceContent(path) };
  });
  return keyOf({ ...said, workloads }, [version]);
}

/** What a trace brings. Its name only says whether it is packed. */
function traceContent(path: string): readonly unknown[] {
  return [digestOf(path) ?? stampOf(path), path.endsWith('.gz')];
}

/** Null where the content cannot be known before it is used: of a pipe, and of a file that may not be read. */
function digestOf(path: string): string | null {
  try {
    return fileDigest(path);
  } catch {
    return null;
  }
}

function formerKey(said: Said, version: string): string {
  const traces = said.workloads.flatMap((workload) => ('path' in workload ? [stampOf(workload.path)] : []));
  return keyOf(said, [version, traces]);
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? `${path} is missing` : `${path} ${stats.size} ${stats.mtimeMs}`;
}

function keyOf(said: object, besides: readonly unknown[]): string {
  const hash = createHash('sha256');
  // JSON has no Infinity.
  hash.update(JSON.stringify(said, (_key, value) => (value === Infinity ? 'Infinity' : value)));
  hash.update(JSON.stringify(besides));
  return hash.digest('hex').slice(0, 32);
}
