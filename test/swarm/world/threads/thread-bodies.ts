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
  /** A frontend of the process has opened; null: it has closed, or its thread has ended. */
  readonly frontend?: (process: SimProcess, thread: FrontendThread | null) => void;
}

/** The threads of live mode in a simulated world. */
export function threadBodies({ frontend = () => {} }: ThreadBodiesOptions = {}): ThreadBodies {
  return {
    executor: executorBody,
    frontend: ({ process, world, port, data, loop }) =>
      runFrontend(world, port, data as FrontendThreadData, async (service, options) => {
        frontend(process, { service, loop });
        loop.ended = () => frontend(process, null);
        return {
          port: options.port === 0 ? ANY_PORT : options.port,
          close: async () => frontend(process, null),
          renew: () => {},
        };
      }),
  };
}

const ANY_PORT = 8000;
