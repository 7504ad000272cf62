export type { OfferedRequests } from './bounds/requests.js';
export { type BoundedCluster, type UpperBounds, upperBounds } from './bounds/upper-bounds.js';
export * from './core/index.js';
export { boundOf } from './experiment/bound.js';
export type { ClusterConfig, Experiment, NoiseConfig, OutputConfig } from './experiment/experiment.js';
export { loadExperiment, parseExperiment } from './experiment/load.js';
export { type SimulateOptions, simulate } from './experiment/simulate.js';
export type * from './metrics/results.js';
export type { PolicyEntry, PolicyOption, PolicyOptions } from './policies/entry.js';
export { POLICIES } from './policies/registry.js';
export * from './sim/index.js';
export {
  mergeSources,
  openWorkload,
  type Workload,
  type WorkloadContext,
  type WorkloadSpec,
} from './workload/index.js';
