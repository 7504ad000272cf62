// Entry of a frontend thread.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { MIB } from '../../../base/units.js';
import { passOnWarnings } from '../../warnings.js';
import { REAL_WORLD } from '../../world/real-world.js';
import type { Frontend } from '../frontend.js';
import { heldBytes } from '../limits.js';
import type { FrontendThreadData } from './remote-service.js';
import { type OpenTransport, runFrontend } from './run-frontend.js';

invariant(parentPort !== null, 'this file is the entry of a thread');
const data = workerData as FrontendThreadData;
const { transport } = data;
passOnWarnings(`frontend-${transport}`);

const open: OpenTransport = async (service, options, turnedAway) => {
  // Each thread loads only what it needs.
  const openFrontend =
    transport === 'http'
      ? (await import('../http-frontend.js')).openHttpFrontend
      : (await import('../grpc-frontend.js')).openGrpcFrontend;
  frontend = await openFrontend(service, options, turnedAway);
  return frontend;
};

/**
 * Ends the thread by a bug, after its connections: Node aborts the whole process if a thread ends while HTTP/2 brings it a
 * new stream.
 */
async function fail(error: Error): Promise<void> {
  const cut = frontend?.close(false);
  await Promise.race([cut, new Promise((resolve) => setTimeout(resolve, CUT_MS))]).catch(() => {});
  process.off('uncaughtException', fail);
  setImmediate(() => {
    throw error;
  });
}

const CUT_MS = 200;
/** Interval at which garbage is looked at, and the most that stays. */
const COLLECT_MS = 1000;
const MOST_GARBAGE_BYTES = 32 * MIB;
/** Busy threads are left to V8, which collects as they allocate. */
const BUSY = 0.5;

let busy = performance.eventLoopUtilization();
let leastBytes = Number.POSITIVE_INFINITY;

/** Gives memory back after large requests and floods: V8 counts on a thread that goes on allocating, and an idle one would keep it. */
function collect(): void {
  const before = busy;
  busy = performance.eventLoopUtilization();
  if (performance.eventLoopUtilization(busy, before).utilization > BUSY) return;
  if (usedBytes() > leastBytes + MOST_GARBAGE_BYTES) {
    globalThis.gc?.();
    leastBytes = usedBytes();
  } else leastBytes = Math.min(leastBytes, usedBytes());
}

/** Beyond what requests hold. */
function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers - (data.options.budget ? heldBytes(data.options.budget) : 0);
}

setInterval(collect, COLLECT_MS).unref();

let frontend: Frontend | null = null;
process.on('uncaughtException', fail);
runFrontend(REAL_WORLD, parentPort, data, open);
