import { DISK_FILES } from '../base/files/disk-files.js';
import type { WorkloadContext } from './frame.js';
import { openWorkload as openFrom, type Workload } from './open.js';
import type { WorkloadSpec } from './spec.js';

/**
 * Opens one section of a run with files on this machine: reads the required part, and has its first arrival pending.
 * `name` is the name of its random streams, so that two sections draw different numbers.
 *
 * Throws coded errors for anything wrong with files or model names.
 *
 * @example
 * const { source } = await openWorkload(
 *   { kind: 'poisson', rateRps: 100, durationNs: 1e9, popularity: { kind: 'uniform' } },
 *   { models: ['resnet50'], sloNs: 100e6, seed: 1 },
 * );
 * while (source.timeNs < Infinity) source.advance();
 */
export function openWorkload(spec: WorkloadSpec, context: WorkloadContext, name?: string): Promise<Workload> {
  return openFrom(spec, { ...context, files: DISK_FILES }, name);
}
