import { usableCores } from '../../../base/limits/usable.js';
import { MIB } from '../../../base/units.js';
import type { CodecPoolOptions } from './codec-pool.js';

/** Codec threads for JSON of at most `maxJsonBytes`. */
export function codecOptions(maxJsonBytes: number): CodecPoolOptions {
  return {
    threads: Math.max(1, Math.min(MOST_THREADS, Math.floor(usableCores() / 2))),
    heapMib: LEAST_HEAP_MIB + Math.ceil((HEAP_PER_BYTE * maxJsonBytes) / MIB),
    jobTimeoutMs: JOB_TIMEOUT_MS,
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
  };
}

const MOST_THREADS = 4;
const LEAST_HEAP_MIB = 128;
/** What parsing the costliest JSON takes for each of its bytes: "[]," makes a list of every third. */
const HEAP_PER_BYTE = 48;
const JOB_TIMEOUT_MS = 15_000;
/** A client hears sooner that it should come back than it would give up. */
const QUEUE_TIMEOUT_MS = 5000;
