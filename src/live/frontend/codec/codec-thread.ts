// Entry of a codec thread.
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { freeLarge } from '../../free-buffers.js';
import { passOnWarnings } from '../../warnings.js';
import { asRefusal } from '../refusal.js';
import { CODEC_JOBS } from './codec-jobs.js';
import type { CodecOrder, CodecReply } from './codec-messages.js';
import type { JobResult } from './job-result.js';

/** Parsing for one client waits for scheduling for all of them. */
const NICENESS = 10;

passOnWarnings('codec');

// Linux has priorities per thread; elsewhere this would slow the whole process.
if (process.platform === 'linux') {
  try {
    setPriority(0, NICENESS);
  } catch {
    // Some sandboxes forbid it. Then all threads have the same share.
  }
}

const pool = parentPort;
invariant(pool !== null, 'this file is the entry of a thread');
pool.on('message', ({ name, input, buffers }: CodecOrder) => {
  try {
    const { value, transfer } = (CODEC_JOBS[name] as (input: unknown) => JobResult<unknown>)(input);
    pool.postMessage({ value } satisfies CodecReply, transfer as ArrayBuffer[]);
  } catch (error) {
    const { kind, message } = asRefusal(error);
    pool.postMessage({ refusal: { kind, message } } satisfies CodecReply);
  }
  // What did not move on with the result.
  freeLarge(buffers.filter(({ byteLength }) => byteLength > 0).map((buffer) => new Uint8Array(buffer)));
});
