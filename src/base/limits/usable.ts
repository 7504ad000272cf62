import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { type ReadText, readCgroupLimits } from './cgroups.js';

/**
 * Number of threads that can run at the same time: processors available to the process, within its container's CPU
 * limit. Rounded down, since the kernel stops all threads of a process that has used up its quota, possibly in the
 * middle of an INFER.
 */
export function usableCores(read: ReadText = readText): number {
  const cores = readCgroupLimits(read).cpus?.value ?? Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(availableParallelism(), Math.floor(cores)));
}

/** Memory of the machine, or its container's limit if lower. */
export function usableMemoryBytes(read: ReadText = readText): number {
  const limitBytes = readCgroupLimits(read).memoryBytes?.value ?? Number.POSITIVE_INFINITY;
  return Math.min(totalmem(), limitBytes);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
