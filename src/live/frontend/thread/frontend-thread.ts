// Entry of a frontend thread.
import { parentPort, workerData } from 'node:worker_threads';
import { Clock } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import { beat, PulseReader } from '../../pulse.js';
import { passOnWarnings } from '../../warnings.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { Frontend } from '../frontend.js';
import type { CutOff } from '../slow-clients.js';
import { RemoteService } from './remote-service.js';
import type { FromFrontend, FrontendThreadData, ToFrontend } from './thread-messages.js';

const port = parentPort;
invariant(port !== null, 'this file is the entry of a thread');
const data = workerData as FrontendThreadData;
const { transport, options: given, originNs, state, pulse, servicePulse, namesClients } = data;
passOnWarnings(`frontend-${transport}`);
beat(pulse, REAL_TIME);

function post(message: FromFrontend, transfer: readonly ArrayBuffer[] = []): void {
  port?.postMessage(message, transfer);
}

async function open(service: RemoteService): Promise<Frontend> {
  const { tls = null } = given;
  const options = { ...given, tls: tls === null ? null : inBuffers(tls) };
  // Each thread loads only what it needs.
  if (transport === 'http') {
    const { openHttpFrontend } = await import('../http-frontend.js');
    const cutOff: CutOff = (client, why) => post({ kind: 'cutOff', client, why });
    return openHttpFrontend(service, options, namesClients ? cutOff : undefined);
  }
  const { openGrpcFrontend } = await import('../grpc-frontend.js');
  return openGrpcFrontend(service, options);
}

/** Buffers cross into another thread as plain arrays of bytes, which not every library takes. */
function inBuffers({ cert, key }: ServerTls): ServerTls {
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}

async function close(graceful: boolean): Promise<void> {
  await frontend?.close(graceful);
  post({ kind: 'closed' });
}

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
/** Came before it had opened. */
let renewed: ServerTls | null = null;
process.on('uncaughtException', fail);
const service = new RemoteService(state, new Clock(REAL_TIME, originNs), post);
new PulseReader(servicePulse, REAL_TIME, (reason) => service.hangs(reason));
port.on('message', (message: ToFrontend) => {
  if (typeof message !== 'string' && message.kind === 'close') void close(message.graceful);
  else if (typeof message !== 'string' && message.kind === 'renew') {
    renewed = inBuffers(message.tls);
    frontend?.renew(renewed);
  } else service.receive(message);
});
try {
  frontend = await open(service);
  if (renewed !== null) frontend.renew(renewed);
  post({ kind: 'listening', port: frontend.port });
} catch (error) {
  const code = error instanceof EscapementError ? error.code : null;
  post({ kind: 'failed', code, message: (error as Error).message });
}
