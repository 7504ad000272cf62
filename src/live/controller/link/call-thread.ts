import { compiledNextTo } from '../../../base/compiled.js';
import { beat, type PulseBuffer, PulseWatch } from '../../pulse.js';
import { buffersOf, Channel, type ThreadPort } from '../../transfer.js';
import type { ControllerMessage, WorkerMessage } from '../../wire/protocol.js';
import {
  type CallWorker,
  callsFrom,
  type WorkerCall,
  type WorkerCallEvents,
  type WorkerCallSettings,
} from '../../wire/worker-call.js';
import { whenEnded } from '../../world/threads.js';
import type { World } from '../../world/world.js';

/** Methods of the thread; `call`: number of a stream. */
interface ThreadCalls {
  open(call: number, settings: WorkerCallSettings): void;
  write(call: number, message: ControllerMessage): void;
  cancel(call: number): void;
  close(call: number): Promise<void>;
}

/** Methods of the thread that it serves. */
interface CallerCalls {
  received(call: number, message: WorkerMessage): void;
  ended(call: number, reason: string): void;
}

/**
 * Calls workers from a thread of its own, so that encoding, checksums, encryption and sockets do not delay the
 * scheduling thread. It starts with the first call. If it dies, its streams have ended, and the next call starts another.
 * If it hangs, `hung` is called: Node may abort the process if a thread is ended while HTTP/2 has work for it.
 */
export class CallThread {
  /** Null: no thread at present. */
  private channel: Channel<ThreadCalls> | null = null;
  private last = 0;
  private readonly open = new Map<number, WorkerCallEvents>();

  constructor(
    private readonly world: Pick<World, 'time' | 'threads' | 'crowding'>,
    private readonly hung: (what: string) => void,
  ) {}

  readonly call: CallWorker = (settings, events): WorkerCall => {
    const call = ++this.last;
    const channel = this.channel ?? this.launch();
    this.open.set(call, events);
    channel.send('open', [call, settings]);
    return {
      write: (message) => {
        if (this.open.has(call)) channel.send('write', [call, message], buffersIn(message));
      },
      cancel: (reason) => {
        if (!this.open.delete(call)) return;
        channel.send('cancel', [call]);
        events.ended(reason);
      },
      close: async () => {
        // A thread that ends meanwhile has closed it, too.
        if (this.open.delete(call)) await channel.call('close', call).catch(() => {});
      },
    };
  };

  private launch(): Channel<ThreadCalls> {
    const { threads } = this.world;
    const pulse = new PulseWatch(this.world, (reason) => this.hung(`the thread of links ${reason}`));
    const thread = threads.start(compiledNextTo(import.meta.url, 'link-thread.js'), {
      name: 'links',
      workerData: pulse.buffer,
    });
    const channel = new Channel<ThreadCalls>(thread as ThreadPort, {
      received: (call, message) => this.open.get(call)?.receive(message),
      ended: (call, reason) => this.ended([call], reason),
    } satisfies CallerCalls);
    // After listening, which would keep the process alive.
    thread.unref();
    whenEnded(thread, (why) => {
      pulse.stop();
      this.channel = null;
      channel.end(new Error(why));
      this.ended([...this.open.keys()], `the thread of links has ended: ${why}`);
    });
    this.channel = channel;
    return channel;
  }

  private ended(calls: readonly number[], reason: string): void {
    const open = calls.flatMap((call) => this.open.get(call) ?? []);
    for (const call of calls) this.open.delete(call);
    for (const { ended } of open) ended(reason);
  }
}

/** Body of the thread. */
export function runCalls(world: Pick<World, 'time' | 'network'>, port: ThreadPort, pulse: PulseBuffer): void {
  const callWorker = callsFrom(world);
  const calls = new Map<number, WorkerCall>();
  const open = (call: number, settings: WorkerCallSettings) =>
    callWorker(inBuffers(settings), {
      receive: (message) => channel.send('received', [call, message], buffersIn(message)),
      ended: (reason) => {
        calls.delete(call);
        channel.send('ended', [call, reason]);
      },
    });
  const channel = new Channel<CallerCalls>(port, {
    open: (call, settings) => void calls.set(call, open(call, settings)),
    write: (call, message) => calls.get(call)?.write(message),
    cancel: (call) => calls.get(call)?.cancel(''),
    close: async (call) => {
      const closing = calls.get(call);
      calls.delete(call);
      await closing?.close();
    },
  } satisfies ThreadCalls);
  beat(pulse, world.time);
}

/** Buffers of the tensors in a message. */
function buffersIn(message: ControllerMessage | WorkerMessage): ArrayBuffer[] {
  if (message.body === 'actions') return buffersOf(message.actions.map(({ inputs }) => inputs));
  return message.body === 'results' ? buffersOf(message.results.map(({ outputs }) => outputs)) : [];
}

/** Buffers cross into another thread as plain byte arrays. */
function inBuffers({ tls, ...settings }: WorkerCallSettings): WorkerCallSettings {
  return { ...settings, tls: tls?.ca === undefined ? tls : { ca: Buffer.from(tls.ca) } };
}
