import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { type ReadText, readCgroupLimits } from './cgroups.js';

/**
 * Threads that may run at the same time here: processors that the process may use, as far as the CPU limit of its container
 * goes. Rounded down, since the kernel stops all threads of a process that has used up its quota, in the middle of an INFER.
 */
export function usableCores(read: ReadText = readText): number {
  const cores = readCgroupLimits(read).cpus?.value ?? Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(availableParallelism(), Math.floor(cores)));
}

/** Memory of the machine, or as much of it as its container may have. */
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
