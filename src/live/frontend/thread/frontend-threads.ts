import { EscapementError } from '../../../base/errors.js';
import type { WatchedService } from '../../service.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { Frontend, FrontendOptions } from '../frontend.js';
import { FrontendHost, type FrontendHostOptions } from './frontend-host.js';

interface FrontendThreadsOptions extends Omit<FrontendHostOptions, 'frontend'> {
  /** Options of each thread's frontend: plain data. */
  readonly frontend: FrontendOptions;
  /** Above 1 they share the port. */
  readonly threads: number;
  /** Where the threads count memory: as many as there are threads, beginning at `firstSlot`. */
  readonly counters: SharedArrayBuffer;
  readonly firstSlot: number;
}

/** A transport in threads of its own. */
interface FrontendThreads extends Frontend {
  readonly hosts: readonly FrontendHost[];
}

/**
 * Opens a transport in threads of its own, next to that of the service. Throws what the frontend throws, and `E_USAGE`
 * where this Node cannot share a port between threads.
 */
export async function openFrontendThreads(
  service: WatchedService,
  options: FrontendThreadsOptions,
): Promise<FrontendThreads> {
  const { threads, counters, firstSlot, frontend } = options;
  checkThreads(threads);
  const hosts = Array.from({ length: threads }, (_, i) => {
    const own = { ...frontend, budget: { counters, slot: firstSlot + i }, sharesPort: threads > 1 };
    return new FrontendHost(service, { ...options, frontend: own });
  });
  const close = async (graceful: boolean) => {
    await Promise.all(hosts.map((host) => host.close(graceful)));
  };
  const renew = (tls: ServerTls) => {
    for (const host of hosts) host.renew(tls);
  };
  try {
    const [first, ...others] = hosts;
    await first.start(frontend.port);
    await Promise.all(others.map((host) => host.start(first.port)));
    return { port: first.port, close, renew, hosts };
  } catch (error) {
    await close(false);
    throw error;
  }
}

/** Throws `E_USAGE` unless that many threads can listen on one port here. */
export function checkThreads(threads: number): void {
  if (threads === 1 || canSharePorts(process.versions.node)) return;
  throw new EscapementError(
    'E_USAGE',
    `--frontends ${threads}: threads can share a port from Node 22.12 on, and this is ${process.version}; use --frontends 1`,
  );
}

/** The option `reusePort` of listening sockets came with 22.12 and 23.1. Systems without it refuse it. */
function canSharePorts(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}
