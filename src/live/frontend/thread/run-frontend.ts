import { Clock } from '../../../base/clock/clock.js';
import { beat, PulseReader } from '../../pulse.js';
import type { ThreadPort } from '../../transfer.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { World } from '../../world/world.js';
import type { Frontend, FrontendOptions, TurnedAway } from '../frontend.js';
import { type FrontendThreadData, RemoteService } from './remote-service.js';

/** Most frequent reports of connections that are turned away. */
const REPORT_MS = 1000;

/** Opens a thread's transport. */
export type OpenTransport = (
  service: RemoteService,
  options: FrontendOptions,
  turnedAway: TurnedAway,
) => Promise<Frontend>;

/** Runs a frontend thread: its transport asks the service of the `FrontendHost` at the other end of the port. */
export function runFrontend(
  world: Pick<World, 'time' | 'crowding'>,
  port: ThreadPort,
  { options, originNs, state, pulse, servicePulse }: FrontendThreadData,
  open: OpenTransport,
): void {
  const { time } = world;
  const { tls = null } = options;
  let frontend: Promise<Frontend>;
  let isReported = false;
  const turnedAway = (client: string) => {
    if (isReported) return;
    isReported = true;
    service.channel.send('turnedAway', [client]);
    time
      .after(REPORT_MS, () => {
        isReported = false;
      })
      .unref();
  };
  const service = new RemoteService(state, new Clock(time, originNs), port, {
    open: async () => {
      frontend = open(service, { ...options, tls: tls === null ? null : inBuffers(tls) }, turnedAway);
      return (await frontend).port;
    },
    close: async (graceful) => (await frontend).close(graceful),
    renew: async (renewed) => (await frontend).renew(inBuffers(renewed)),
  });
  beat(pulse, time);
  new PulseReader(servicePulse, world, (reason) => service.hangs(reason));
}

/** Buffers cross into another thread as plain arrays of bytes, which not every library takes. */
function inBuffers({ cert, key }: ServerTls): ServerTls {
  return { cert: Buffer.from(cert), key: Buffer.from(key) };
}
