export type { WorkloadContext } from './frame.js';
export { MergedSource, mergeSources } from './merge.js';
export { openWorkload, type Workload } from './open.js';
export type { StreamedSource } from './source.js';
export type { WorkloadSpec } from './spec.js';
