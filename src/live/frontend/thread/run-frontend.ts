import { Clock } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { beat, PulseReader } from '../../pulse.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { ThreadPort } from '../../world/threads.js';
import type { World } from '../../world/world.js';
import type { Frontend, FrontendEvents, FrontendOptions } from '../frontend.js';
import { type FrontendThreadData, RemoteService, type ToHost } from './remote-service.js';

/** Delay after the first rejected connection before its client, and those until then, are reported. */
const GATHER_MS = 1000;
/** Limit on the clients named in a report. */
const MOST_NAMED = 100;

/** Opens a thread's transport. */
export type OpenTransport = (
  service: RemoteService,
  options: FrontendOptions,
  events: FrontendEvents,
) => Promise<Frontend>;

/** Runs a frontend thread: its transport asks the service of the `FrontendHost` at the other end of the port. */
export async function runFrontend(
  world: Pick<World, 'time' | 'crowding'>,
  port: ThreadPort,
  { options, originNs, state, pulse, servicePulse }: FrontendThreadData,
  open: OpenTransport,
): Promise<void> {
  const { time } = world;
  const { tls = null } = options;
  let frontend: Frontend | null = null;
  /** Came before it had opened. */
  let renewed: ServerTls | null = null;
  const post = (message: ToHost) => port.postMessage(message);
  const turnedAway = new Set<string>();
  const events: FrontendEvents = {
    cutOff: (client, why) => post({ kind: 'cutOff', client, why }),
    turnedAway: (client) => {
      if (turnedAway.size === 0) time.after(GATHER_MS, postTurnedAway).unref();
      if (turnedAway.size < MOST_NAMED) turnedAway.add(client);
    },
  };
  const postTurnedAway = () => {
    post({ kind: 'turnedAway', clients: [...turnedAway] });
    turnedAway.clear();
  };
  const close = async (graceful: boolean) => {
    await frontend?.close(graceful);
    post({ kind: 'closed' });
  };
  const service = new RemoteService(state, new Clock(time, originNs), port, (message) => {
    if (message.kind === 'close') void close(message.graceful);
    else {
      renewed = inBuffers(message.tls);
      frontend?.renew(renewed);
    }
  });
  beat(pulse, time);
  new PulseReader(servicePulse, world, (reason) => service.hangs(reason));
  try {
    const own = { ...options, tls: tls === null ? null : inBuffers(tls) };
    frontend = await open(service, own, events);
    if (renewed !== null) frontend.renew(renewed);
    post({ kind: 'listening', port: frontend.port });
  } catch (error) {
    const code = error instanceof EscapementError ? error.code : null;
    post({ kind: 'failed', code, message: (error as Error).message });
  }
}

/** Buffers cross into another thread as plain arrays of bytes, which not every library takes. */
function inBuffers({ cert, key }: ServerTls): ServerTls {
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}
