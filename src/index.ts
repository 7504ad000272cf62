/// <reference types="node" preserve="true" />
export type { OfferedRequests } from './bounds/requests.js';
export { type BoundedCluster, type UpperBounds, upperBounds } from './bounds/upper-bounds.js';
export type {
  ClusterConfig,
  Experiment,
  LiveConfig,
  NoiseConfig,
  OutputConfig,
} from './config/experiment.js';
export { loadExperiment, parseExperiment } from './config/load.js';
export * from './core/index.js';
export type { PolicyEntry, PolicyOption, PolicyOptions } from './policies/entry.js';
export { POLICIES } from './policies/registry.js';
export type * from './record/results.js';
export { boundOf } from './run/bound.js';
export type { RunOptions } from './run/run.js';
export { simulate } from './run/simulated.js';
export { Simulation, type SimulationOptions } from './run/simulation.js';
export * from './sim/index.js';
export {
  mergeSources,
  openWorkload,
  type Workload,
  type WorkloadContext,
  type WorkloadSpec,
} from './workload/index.js';
