export type { Experiment } from '../config/experiment.js';
export * from '../core/index.js';
export type { PolicyEntry, PolicyOption, PolicyOptions } from '../policies/entry.js';
export { POLICIES } from '../policies/registry.js';
export type * from '../record/results.js';
export { boundOf } from '../run/bound.js';
export { Simulation, type SimulationOptions } from '../run/simulation.js';
export type { PageFiles } from './given-files.js';
export { type ParseOptions, parseExperiment } from './parse.js';
