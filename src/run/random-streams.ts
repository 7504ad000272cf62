import type { Experiment } from '../config/experiment.js';
import { targetNames } from '../config/pipelines.js';
import { selectModels } from '../workload/select-models.js';
import type { LengthSpec, WorkloadSpec } from '../workload/spec.js';

/**
 * Conditions under which each random stream of a simulation affects the run, by its name without that of the workload's
 * section. Nothing else in a run is random.
 */
export const STREAMS: Readonly<Record<string, (experiment: Experiment) => boolean>> = {
  'exec-noise': ({ cluster }) =>
    cluster.noise.distribution !== 'normal' ||
    [cluster.noise, ...changed(cluster)].some(({ exec, stragglers }) => exec > 0 || stragglers > 0),
  'load-noise': ({ cluster }) =>
    cluster.noise.distribution === 'profile' ||
    [cluster.noise, ...changed(cluster)].some(({ load }) => load > 0),
  'profile-error': ({ cluster }) => cluster.noise.profile > 0,
  failures: ({ cluster }) => cluster.failures.some((failure) => 'perNs' in failure),
  network: ({ cluster: { network, changes } }) =>
    [network, ...changes.map((change) => change.network)].some(({ jitterNs }) => jitterNs > 0),
  'clock-offset': ({ cluster }) => cluster.clockOffsetNs > 0,
  trace: ({ workloads }) => workloads.some(({ kind }) => kind === 'azure-like'),
  functions: ({ workloads }) => workloads.some(isByMinute),
  arrivals: ({ workloads }) =>
    workloads.some((workload) =>
      workload.kind === 'closed-loop'
        ? workload.thinkNs > 1
        : isByMinute(workload) || ['poisson', 'gamma', 'on-off', 'ramp'].includes(workload.kind),
    ),
  models: ({ workloads, models, pipelines }) =>
    workloads.some(
      (workload) =>
        'popularity' in workload &&
        workload.popularity !== undefined &&
        selectModels(targetNames(models, pipelines), workload.models).length > 1,
    ),
  copies: ({ workloads }) =>
    workloads.some(
      (workload) =>
        ['arrivals', 'azure-2021', 'azure-llm'].includes(workload.kind) &&
        'scale' in workload &&
        (workload.scale ?? 1) !== 1,
    ),
  pipelines: ({ pipelines }) =>
    pipelines.some(({ steps }) =>
      steps.some(
        ({ fanOut, probability }) => !['constant', 'length'].includes(fanOut.kind) || probability < 1,
      ),
    ),
  boost: ({ workloads }) => workloads.some(({ boost }) => boost !== undefined),
  lengths: ({ workloads }) => workloads.some(({ length }) => length !== undefined && isDrawn(length)),
};

/** True if runs with other seeds differ; false: a run is one sample, like a replayed log without noise. */
export function seedChanges(experiment: Experiment): boolean {
  return Object.values(STREAMS).some((draws) => draws(experiment));
}

/** True if requests come from a log: seeds decide how it is replayed, but its own traffic is one sample. */
export function replaysLog({ workloads }: Experiment): boolean {
  return workloads.some(({ kind }) => LOGS.has(kind));
}

const LOGS: ReadonlySet<WorkloadSpec['kind']> = new Set([
  'arrivals',
  'azure-2019',
  'azure-2021',
  'azure-llm',
]);

function changed({ changes }: Experiment['cluster']) {
  return changes.map(({ noise }) => noise);
}

function isByMinute({ kind }: WorkloadSpec): boolean {
  return kind === 'azure-2019' || kind === 'azure-like';
}

function isDrawn(length: LengthSpec): boolean {
  switch (length.kind) {
    case 'uniform':
      return length.from < length.to;
    case 'list':
      return new Set(length.values).size > 1;
    case 'lognormal':
      return length.sigma > 0;
    default:
      return false;
  }
}
