import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileDigest } from '../../base/files/file-digest.js';
import type { Experiment } from '../../config/experiment.js';
import { modelsOf, percentilesOf } from '../../record/figures.js';

/**
 * Names a cell's result by everything that decides it, so that it is the same wherever files lie: the checked experiment
 * after defaults and overrides (so with the figures of every model), the bytes of each trace, the version of the
 * program and its platform, and what is asked of it. A result under this key can be reused; anything else cannot.
 */
export function cellKey(experiment: Experiment, version: string, metrics: readonly string[]): string {
  // Leaves out the experiment file's path, comments, name and live settings, which do not affect the simulation.
  const {
    file: _,
    source: __,
    modelFiles: ___,
    live: ____,
    runtime: _____,
    warnings: _______,
    name: ______,
    sweep: ________,
    scenarios: _________,
    ...said
  } = experiment;
  const { kind, options, plugin } = experiment.policy;
  // The name of a plugin's file does not matter, but every change of it does.
  const policy = { kind, options, ...(plugin === undefined ? {} : { plugin: plugin.digest }) };
  const asked = { percentiles: percentilesOf(metrics), modelFigures: modelsOf(metrics) };
  return keyOf({ ...said, policy, ...asked }, version);
}

/** Names the result of `boundOf` by its inputs: cells of several policies share it. */
export function boundKey(experiment: Experiment, version: string): string {
  const { seed, models, pipelines, classes, workloads, sloNs, warmupNs, cluster, policy } = experiment;
  const { gpus, kinds, gpuClock, noise, network, changes } = cluster;
  const delaysNs = [network, ...changes.map((change) => change.network)].map(({ delayNs }) => delayNs);
  const fleet = {
    gpus,
    kinds,
    gpuClock,
    profile: noise.profile,
    delaysNs,
    maxBatch: policy.options.maxBatch,
  };
  const said = { seed, models, pipelines, classes, workloads, sloNs, warmupNs, ...fleet };
  return keyOf(said, version);
}

/** Decides the last digits of a result: the processor's architecture and the engine. */
export function platformText(): string {
  const [major, minor] = process.versions.v8.split('.');
  return `${process.arch} with V8 ${major}.${minor}`;
}

function keyOf(
  said: Readonly<Record<string, unknown>> & Pick<Experiment, 'workloads'>,
  version: string,
): string {
  const workloads = said.workloads.map((workload) => {
    if (!('path' in workload)) return workload;
    const { path, ...rest } = workload;
    return { ...rest, trace: traceContent(path) };
  });
  const hash = createHash('sha256');
  // JSON has no Infinity.
  const plain = (_key: string, value: unknown) => (value === Infinity ? 'Infinity' : value);
  hash.update(JSON.stringify({ ...said, workloads }, plain));
  hash.update(JSON.stringify([version, platformText()]));
  return hash.digest('hex').slice(0, 32);
}

/** Content of a trace. Its name only says whether it is compressed. */
function traceContent(path: string): readonly unknown[] {
  return [digestOf(path) ?? stampOf(path), path.endsWith('.gz')];
}

/** Null if the content cannot be known before use: a pipe, or an unreadable file. */
function digestOf(path: string): string | null {
  try {
    return fileDigest(path);
  } catch {
    return null;
  }
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? `${path} is missing` : `${path} ${stats.size} ${stats.mtimeMs}`;
}
