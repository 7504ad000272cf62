import { basename } from 'node:path';
import type { ThreadPort } from '../../../../src/live/transfer.js';
import type { ThreadHandle, Threads } from '../../../../src/live/world/threads.js';
import type { World } from '../../../../src/live/world/world.js';
import type { SimProcess } from '../process.js';
import type { ThreadLoop } from '../thread-loop.js';

/** What a thread finds when it starts. */
export interface ThreadScope {
  readonly process: SimProcess;
  readonly world: World;
  readonly loop: ThreadLoop;
  readonly port: ThreadPort;
  /** `workerData`, cloned. */
  readonly data: unknown;
  /** The next message that has come; undefined: none at present. Instead of `port.on`. */
  readonly receive: () => unknown;
  /**
   * Calls `woken` when the number, read from shared memory, was changed. Messages are to be asked for from then on: they do not
   * wake it.
   */
  wakeOn(read: () => number, woken: () => void): void;
  /** Calls `woken` soon. */
  wake(): void;
  /** The thread ends by itself. */
  exit(status: number): void;
}

/** What threads run, by the name of their entry's file: `frontend-thread.js`. */
export type ThreadBodies = Readonly<Record<string, (scope: ThreadScope) => void | Promise<void>>>;

/** The threads of one run of a process. */
export class SimThreads {
  readonly list: SimThread[] = [];
  private started = 0;
  private readonly random: () => number;
  private readonly watches: { readonly thread: SimThread; readonly read: () => number; seen: number }[] = [];

  constructor(
    private readonly process: SimProcess,
    main: ThreadLoop,
  ) {
    this.random = process.machine.simulation.random(`threads/${main.name}`);
    this.follow(main);
  }

  /** As a thread with this event loop sees them. */
  startedFrom(parent: ThreadLoop): Threads {
    return {
      start: (entry, options) => {
        const kind = basename(entry.pathname).replace(/-thread\.js$/, '');
        const body = this.process.machine.simulation.bodies[kind];
        if (body === undefined) throw new Error(`no thread of a simulated world runs ${entry.pathname}`);
        const label = `${this.process.name}.${this.process.incarnation}/${kind}.${++this.started}`;
        const thread = new SimThread(this, this.process, parent, { kind, label, body, options });
        this.list.push(thread);
        return thread;
      },
      abandon: () => {},
    };
  }

  /** Wakes the thread when the number, read from shared memory, has changed. */
  watch(thread: SimThread, read: () => number): void {
    this.watches.push({ thread, read, seen: read() });
  }

  /** Threads of a process see at once what its other threads do with shared memory. */
  follow(loop: ThreadLoop): void {
    loop.settled = () => this.look();
  }

  ended(thread: SimThread): void {
    this.list.splice(this.list.indexOf(thread), 1);
    const at = this.watches.findIndex((watch) => watch.thread === thread);
    if (at >= 0) this.watches.splice(at, 1);
  }

  /** What passes between a message's sending and its receiver. */
  delayNs(): number {
    return 5_000 + Math.floor(this.random() * 60_000);
  }

  /** The same for a thread that starts. */
  startDelayNs(): number {
    return 5_000_000 + Math.floor(this.random() * 30_000_000);
  }

  private look(): void {
    for (const watch of this.watches) {
      const now = watch.read();
      if (now === watch.seen) continue;
      watch.seen = now;
      watch.thread.wake();
    }
  }
}

type ThreadOptions = Parameters<Threads['start']>[1];

interface SimThreadOptions {
  readonly kind: string;
  readonly label: string;
  readonly body: ThreadBodies[string];
  readonly options: ThreadOptions;
}

/** A thread besides the main one of its process. */
export class SimThread implements ThreadHandle {
  readonly kind: string;
  readonly loop: ThreadLoop;
  /** Null: it takes no message yet, or asks for them. */
  private heard: ((message: unknown) => void) | null = null;
  private woken: (() => void) | null = null;
  private readonly inbox: unknown[] = [];
  private readonly listeners: Record<'message' | 'error' | 'exit', ((value: never) => void)[]> = {
    message: [],
    error: [],
    exit: [],
  };
  private isWaking = false;
  private hangs = false;
  private toThreadNs = 0;
  private toParentNs = 0;

  constructor(
    private readonly threads: SimThreads,
    private readonly process: SimProcess,
    private readonly parent: ThreadLoop,
    { kind, label, body, options }: SimThreadOptions,
  ) {
    this.kind = kind;
    const loop = process.newLoop(label, (error) => this.thrown(error));
    this.loop = loop;
    if (process.isFrozen) loop.freeze();
    threads.follow(loop);
    const data = cloned(options.workerData, options.transferList);
    this.tell('started');
    // Messages that are sent meanwhile come after it has started.
    this.toThreadNs = loop.simulation.nowNs + threads.startDelayNs();
    loop.receive(this.toThreadNs - loop.simulation.nowNs, () => {
      const end = body(this.scope(data));
      if (end !== undefined) end.catch((error: Error) => this.thrown(error));
    });
  }

  postMessage(message: unknown, transfer?: readonly unknown[]): void {
    const sent = cloned(message, transfer as never);
    if (this.woken !== null) {
      // It looks for messages when it is woken, and finds what is there by then.
      this.inbox.push(sent);
      return;
    }
    const { simulation } = this.loop;
    this.toThreadNs = Math.max(this.toThreadNs, simulation.nowNs + this.threads.delayNs());
    this.loop.receive(this.toThreadNs - simulation.nowNs, () => this.receive(sent));
  }

  on(event: 'message' | 'error' | 'exit', heard: (value: never) => void): this {
    this.listeners[event].push(heard);
    return this;
  }

  unref(): void {}

  /** It ends in the middle of what it does. */
  terminate(): Promise<number> {
    return new Promise((resolve) => {
      if (this.loop.isOver) resolve(1);
      else {
        this.listeners.exit.push(() => resolve(1));
        this.end(1, null);
      }
    });
  }

  /** A fault: it ends with an error that nothing has caught. */
  die(error: Error): void {
    if (!this.loop.isOver) this.end(1, error);
  }

  /** A fault: it does nothing until `goOn`, and takes what it is sent. */
  hang(): void {
    if (this.loop.isOver || this.hangs) return;
    this.hangs = true;
    this.loop.freeze();
    this.tell('hangs');
  }

  goOn(): void {
    if (this.loop.isOver || !this.hangs) return;
    this.hangs = false;
    this.tell('goes on');
    if (!this.process.isFrozen) this.thaw();
  }

  /** Its process is not frozen any more. */
  thaw(): void {
    if (!this.hangs) this.loop.thaw();
  }

  /** Shared memory has changed. */
  wake(): void {
    if (this.isWaking) return;
    this.isWaking = true;
    this.loop.receive(this.threads.delayNs(), () => {
      this.isWaking = false;
      this.woken?.();
    });
  }

  private scope(data: unknown): ThreadScope {
    const { process, loop } = this;
    return {
      process,
      loop,
      data,
      world: process.worldOf(loop),
      port: {
        postMessage: (message, transfer) => {
          const sent = cloned(message, transfer as never);
          this.tellParent(() => this.emit('message', sent));
        },
        on: (_event, heard) => {
          this.heard = heard as (message: unknown) => void;
          loop.receive(0, () => this.empty());
        },
      },
      receive: () => this.inbox.shift(),
      wakeOn: (read, woken) => {
        this.woken = woken;
        this.threads.watch(this, read);
      },
      wake: () => this.wake(),
      exit: (status) => this.end(status, null),
    };
  }

  /** An error of its own. */
  private thrown(error: Error): void {
    if (this.loop.isOver) return;
    this.loop.simulation.failed(this.process, this.kind, error);
    this.die(error);
  }

  private receive(message: unknown): void {
    this.inbox.push(message);
    this.empty();
  }

  private empty(): void {
    while (this.heard !== null && this.inbox.length > 0) this.heard(this.inbox.shift());
  }

  private end(status: number, error: Error | null): void {
    const { loop, threads } = this;
    loop.end();
    threads.ended(this);
    this.process.machine.simulation.network.loopEnded(loop);
    this.tell('ended');
    this.tellParent(() => {
      if (error !== null) this.emit('error', error);
      this.emit('exit', status);
    });
  }

  /** In the order in which it was sent. */
  private tellParent(tell: () => void): void {
    const { simulation } = this.loop;
    this.toParentNs = Math.max(this.toParentNs, simulation.nowNs + this.threads.delayNs());
    this.parent.receive(this.toParentNs - simulation.nowNs, tell);
  }

  private emit(event: 'message' | 'error' | 'exit', value: unknown): void {
    for (const heard of this.listeners[event]) heard(value as never);
  }

  private tell(change: 'started' | 'ended' | 'hangs' | 'goes on'): void {
    const { simulation } = this.loop;
    simulation.tap.thread?.(simulation.nowNs, this.process, this.kind, change);
  }
}

/**
 * What comes out at the other end of a port: as `structuredClone`, and many times faster for plain data. Throws what cannot
 * be sent.
 */
export function cloned(message: unknown, transfer: readonly Transferable[] = []): unknown {
  return transfer.length > 0 ? structuredClone(message, { transfer: [...transfer] }) : copy(message);
}

type Transferable = NonNullable<NonNullable<Parameters<typeof structuredClone>[1]>['transfer']>[number];

function copy(value: unknown): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return value;
  if (Array.isArray(value)) return value.map(copy);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype) {
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(value)) copied[key] = copy((value as Record<string, unknown>)[key]);
    return copied;
  }
  if (prototype === Uint8Array.prototype && isWhole(value as Uint8Array))
    return (value as Uint8Array).slice();
  return structuredClone(value);
}

/** A view of a part would bring the whole buffer with it. */
function isWhole({ buffer, byteLength }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
}
