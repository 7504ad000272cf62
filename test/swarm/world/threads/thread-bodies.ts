import { pause } from '../../../../src/base/world/pause.js';
import type {
  FrontendThreadData,
  RemoteService,
} from '../../../../src/live/frontend/thread/remote-service.js';
import { runFrontend } from '../../../../src/live/frontend/thread/run-frontend.js';
import type { SimProcess } from '../process.js';
import type { ThreadLoop } from '../thread-loop.js';
import { executorBody } from './executor-body.js';
import type { ThreadBodies } from './sim-threads.js';

/** Where clients enter: they call `service` in events of `loop`, as a transport does in its thread. */
export interface FrontendThread {
  readonly service: RemoteService;
  readonly loop: ThreadLoop;
}

interface ThreadBodiesOptions {
  /** A client waits for an answer of a frontend of the process. */
  readonly hasClients?: (process: SimProcess) => boolean;
  /** A frontend of the process has opened; null: it has closed, or its thread has ended. */
  readonly frontend?: (process: SimProcess, thread: FrontendThread | null) => void;
}

/** The threads of live mode in a simulated world. */
export function threadBodies({
  hasClients = () => false,
  frontend = () => {},
}: ThreadBodiesOptions = {}): ThreadBodies {
  return {
    executor: executorBody,
    frontend: ({ process, world, port, data, loop }) =>
      runFrontend(world, port, data as FrontendThreadData, async (service, options) => {
        frontend(process, { service, loop });
        loop.ended = () => frontend(process, null);
        return {
          port: options.port === 0 ? ANY_PORT : options.port,
          close: async (graceful) => {
            while (graceful && hasClients(process)) await pause(loop, LOOK_MS);
            frontend(process, null);
          },
          renew: () => {},
        };
      }),
  };
}

const ANY_PORT = 8000;
/** A frontend that closes looks so often whether its clients have their answers. */
const LOOK_MS = 10;
