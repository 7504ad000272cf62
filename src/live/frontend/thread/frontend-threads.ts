import { setFlagsFromString } from 'node:v8';
import { compiledNextTo } from '../../../base/compiled.js';
import { EscapementError } from '../../../base/errors.js';
import { NS_PER_S } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { Backoff } from '../../backoff.js';
import { beat, newPulse, PulseWatch } from '../../pulse.js';
import type { WatchedService } from '../../service.js';
import type { ServerTls } from '../../wire/credentials.js';
import { within } from '../../within.js';
import { REAL_WORLD } from '../../world/real-world.js';
import { type ThreadHandle, whenEnded } from '../../world/threads.js';
import type { World } from '../../world/world.js';
import type { Frontend, FrontendOptions, TurnedAway } from '../frontend.js';
import { type BudgetSlot, clearBudgetSlot } from '../limits.js';
import { type FrontendThreadData, ThreadRequests, type Transport } from './remote-service.js';

interface FrontendThreadsOptions {
  /** Default: the real one. */
  readonly world?: Pick<World, 'time' | 'threads' | 'crowding'>;
  readonly transport: Transport;
  /** Options of each thread's frontend: plain data. */
  readonly frontend: FrontendOptions;
  /** Above 1 they share the port. */
  readonly threads: number;
  /** Memory counters of the threads, one each, beginning at `firstSlot`. */
  readonly counters: SharedArrayBuffer;
  readonly firstSlot: number;
  /** A thread ended by itself, with all requests of its clients; another takes its place. */
  readonly died: (reason: string) => void;
  readonly turnedAway: TurnedAway;
  /** A thread hangs, with its port and all requests of its clients; no other takes its place. */
  readonly hung?: (what: string) => void;
}

/** A transport in threads of its own. */
interface FrontendThreads extends Frontend {
  readonly hosts: readonly FrontendHost[];
}

/** A thread that ended by itself is replaced after this, then after twice as long, up to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Heap of a frontend thread; bodies and answers lie outside it. */
const HEAP_MB = 512;
/**
 * Room for new objects: large enough that most requests are gone before it is full, and need not be copied. A third of it is
 * what V8 fills at a time; it keeps two thirds once there was much to do. Twice as much saved no CPU time at full load.
 */
const YOUNG_HEAP_MB = 48;
/** Time for a thread to close its frontend, which gives up on its clients earlier. */
const CLOSE_NS = 15 * NS_PER_S;

/**
 * Opens a transport in threads of its own, next to that of the service. Throws what the frontend throws, and `E_USAGE`
 * where this Node cannot share a port between threads.
 */
export async function openFrontendThreads(
  service: WatchedService,
  options: FrontendThreadsOptions,
): Promise<FrontendThreads> {
  const { threads, frontend } = options;
  checkThreads(threads);
  // They collect garbage after floods.
  setFlagsFromString('--expose-gc');
  const hosts = Array.from({ length: threads }, (_, i) => new FrontendHost(service, options, i));
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
  // The option `reusePort` of listening sockets came with it. Systems without it refuse it.
  const { node } = process.versions;
  if (threads === 1 || node.localeCompare('22.12', undefined, { numeric: true }) >= 0) return;
  throw new EscapementError(
    'E_USAGE',
    `--frontends ${threads}: threads can share a port from Node 22.12 on, and this is ${process.version}; use --frontends 1`,
  );
}

/**
 * One frontend in a thread of its own. If the thread ends, another takes its port; the process goes on. If it hangs, it is
 * left alone: Node may abort the process if a thread is ended while HTTP/2 has something for it.
 */
class FrontendHost {
  port = 0;
  /** Null: none at present. */
  thread: ThreadHandle | null = null;
  private requests: ThreadRequests | null = null;
  private readonly pauses = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  private pause: Timer | null = null;
  private isClosing = false;
  /** The present certificate, if it is not the first one. */
  private renewed: ServerTls | null = null;
  private readonly unwatch: () => void;
  /** Pulse that shows the thread that this one does not hang. */
  private readonly pulse = newPulse();
  private readonly endPulse: () => void;
  private readonly world: Pick<World, 'time' | 'threads' | 'crowding'>;
  private readonly budget: BudgetSlot;

  constructor(
    private readonly service: WatchedService,
    private readonly options: FrontendThreadsOptions,
    index: number,
  ) {
    this.world = options.world ?? REAL_WORLD;
    this.budget = { counters: options.counters, slot: options.firstSlot + index };
    this.endPulse = beat(this.pulse, this.world.time);
    this.unwatch = service.watch(() => this.requests?.tell());
  }

  /** Resolves when it listens. Rejects as the frontend does. */
  start(port: number): Promise<void> {
    this.port = port;
    return this.launch();
  }

  /** As a frontend's. */
  async close(graceful: boolean): Promise<void> {
    this.isClosing = true;
    this.pause?.cancel();
    const { thread } = this;
    if (thread !== null) {
      const closed = this.requests?.channel.call('close', graceful).catch(() => {});
      await within(this.world.time, closed ?? Promise.resolve(), CLOSE_NS);
      await thread.terminate();
    }
    this.unwatch();
    this.endPulse();
  }

  /** As a frontend's. */
  renew(tls: ServerTls): void {
    this.renewed = tls;
    // A thread that has gone, or cannot open, gets it with the next start.
    this.requests?.channel.call('renew', tls).catch(() => {});
  }

  /** Resolves when the thread listens. Rejects as the frontend does. */
  private async launch(): Promise<void> {
    const { service, options } = this;
    const { transport } = options;
    const { threads } = this.world;
    const pulse = new PulseWatch(this.world, (hung) => {
      this.drop(hung);
      options.hung?.(`the thread of the ${transport} frontend ${hung}`);
    });
    const workerData: FrontendThreadData = {
      transport,
      options: {
        ...options.frontend,
        ...{ port: this.port, budget: this.budget, reusePort: options.threads > 1 },
        ...(this.renewed === null ? {} : { tls: this.renewed }),
      },
      originNs: originOf(service, this.world.time),
      state: service.state,
      pulse: pulse.buffer,
      servicePulse: this.pulse,
    };
    const thread = threads.start(compiledNextTo(import.meta.url, 'frontend-thread.js'), {
      workerData,
      name: `frontend-${transport}`,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    this.thread = thread;
    this.requests = new ThreadRequests(service, thread, options.turnedAway);
    let isListening = false;
    whenEnded(thread, (why) => {
      pulse.stop();
      if (this.thread !== thread) return;
      this.drop(why);
      clearBudgetSlot(this.budget);
      if (isListening) this.replace(why);
    });
    try {
      this.port = await this.requests.channel.call('open');
      isListening = true;
    } catch (error) {
      if (this.thread === thread) this.drop('it cannot open');
      void thread.terminate();
      throw error;
    }
  }

  private replace(reason: string): void {
    if (this.isClosing) return;
    this.options.died(reason);
    this.pause = this.world.time.after(this.pauses.delayMs(this.service.nowNs()), () =>
      this.launch().catch(({ message }) => this.replace(message)),
    );
  }

  /** The thread is used no more. */
  private drop(why: string): void {
    this.thread = null;
    this.requests?.end(why);
  }
}

/** Origin of the service's clock, which is read first so that timestamps of the thread are never in the future. */
function originOf(service: WatchedService, time: Time): number {
  const nowNs = service.nowNs();
  return time.monotonicNs() - nowNs;
}
