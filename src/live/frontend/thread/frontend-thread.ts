// Entry of a frontend thread.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { passOnWarnings } from '../../warnings.js';
import { REAL_WORLD } from '../../world/real-world.js';
import type { Frontend } from '../frontend.js';
import type { FrontendThreadData } from './remote-service.js';
import { type OpenTransport, runFrontend } from './run-frontend.js';

invariant(parentPort !== null, 'this file is the entry of a thread');
const data = workerData as FrontendThreadData;
const { transport } = data;
passOnWarnings(`frontend-${transport}`);

const open: OpenTransport = async (service, options, events) => {
  // Each thread loads only what it needs.
  const openFrontend =
    transport === 'http'
      ? (await import('../http-frontend.js')).openHttpFrontend
      : (await import('../grpc-frontend.js')).openGrpcFrontend;
  frontend = await openFrontend(service, options, events);
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

let frontend: Frontend | null = null;
process.on('uncaughtException', fail);
await runFrontend(REAL_WORLD, parentPort, data, open);
