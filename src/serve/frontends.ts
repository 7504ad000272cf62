import type { Frontend, FrontendOptions } from '../live/frontend/frontend.js';
import { newBudgetCounters } from '../live/frontend/limits.js';
import { checkThreads, openFrontendThreads } from '../live/frontend/thread/frontend-threads.js';
import type { EventLog } from '../live/observe/event-log.js';
import type { WatchedService } from '../live/service.js';
import type { World } from '../live/world/world.js';
import { logTurnedAway } from './server-log.js';

interface FrontendsOptions {
  /** 0: any free port; null: disabled. */
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  /** Number of threads of each transport. */
  readonly frontends: number;
  readonly frontend: Omit<FrontendOptions, 'port'>;
  readonly events: EventLog;
  readonly world: Pick<World, 'time' | 'threads' | 'crowding'>;
  /** Called when a thread hangs. */
  readonly hung?: (what: string) => void;
}

/** Opens both transports in parallel and adds them to `opened`. Throws their errors. */
export async function openFrontends(
  service: WatchedService,
  { httpPort, grpcPort, frontends: threads, frontend, events, hung, world }: FrontendsOptions,
  opened: { http: Frontend | null; grpc: Frontend | null },
): Promise<void> {
  checkThreads(threads);
  // Request bodies and answers in progress share one limit across all threads.
  const counters = newBudgetCounters(2 * threads);
  const open = (transport: 'http' | 'grpc', port: number, firstSlot: number) =>
    openFrontendThreads(service, {
      transport,
      world,
      threads,
      frontend: { ...frontend, port },
      counters,
      firstSlot,
      turnedAway: (client) => logTurnedAway(events, 'requests', client),
      ...(hung === undefined ? {} : { hung }),
      died: (reason) =>
        events.say(
          'error',
          { transport, reason },
          `a frontend thread ended, with its connections; it is started again: ${reason}`,
          transport,
        ),
    });
  const openings = await Promise.allSettled([
    httpPort === null ? null : open('http', httpPort, 0),
    grpcPort === null ? null : open('grpc', grpcPort, threads),
  ]);
  const [http, grpc] = openings;
  // Even if the other failed: the caller closes everything in `opened`.
  if (http.status === 'fulfilled') opened.http = http.value;
  if (grpc.status === 'fulfilled') opened.grpc = grpc.value;
  for (const opening of openings) if (opening.status === 'rejected') throw opening.reason;
}
