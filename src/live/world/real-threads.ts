import { Worker } from 'node:worker_threads';
import type { Threads } from './threads.js';

/** Threads of this process. */
export const REAL_THREADS: Threads = { start: (entry, options) => new Worker(entry, options) };
