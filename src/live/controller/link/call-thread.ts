import { compiledNextTo } from '../../../base/compiled.js';
import { beat, type PulseBuffer, PulseWatch } from '../../pulse.js';
import { buffersOf } from '../../transfer.js';
import type { ControllerMessage, WorkerMessage } from '../../wire/protocol.js';
import {
  type CallWorker,
  callsFrom,
  type WorkerCall,
  type WorkerCallSettings,
} from '../../wire/worker-call.js';
import type { ThreadHandle, ThreadPort } from '../../world/threads.js';
import type { World } from '../../world/world.js';

/** Messages to the thread. `call`: number of the stream. */
type ToThread =
  | { readonly kind: 'open'; readonly call: number; readonly settings: WorkerCallSettings }
  | { readonly kind: 'write'; readonly call: number; readonly message: ControllerMessage }
  | { readonly kind: 'cancel' | 'close'; readonly call: number };

type FromThread =
  | { readonly kind: 'received'; readonly call: number; readonly message: WorkerMessage }
  | { readonly kind: 'ended'; readonly call: number; readonly reason: string }
  | { readonly kind: 'closed'; readonly call: number };

interface Open {
  receive(message: WorkerMessage): void;
  ended(reason: string): void;
  closed(): void;
}

/**
 * Calls workers from a thread of its own, so that encoding, checksums, encryption and sockets do not delay the
 * scheduling thread. It starts with the first call. If it dies, its streams have ended, and the next call starts another.
 * If it hangs, `hung` is called: Node may abort the process if a thread is ended while HTTP/2 has work for it.
 */
export class CallThread {
  private thread: ThreadHandle | null = null;
  private last = 0;
  private readonly open = new Map<number, Open>();

  constructor(
    private readonly world: Pick<World, 'time' | 'threads' | 'crowding'>,
    private readonly hung: (what: string) => void,
  ) {}

  readonly call: CallWorker = (settings, { receive, ended }): WorkerCall => {
    const call = ++this.last;
    const thread = this.thread ?? this.launch();
    let closed = () => {};
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    this.open.set(call, { receive, ended, closed });
    const post = (message: ToThread, transfer: ArrayBuffer[] = []) => {
      if (this.open.has(call)) thread.postMessage(message, transfer);
    };
    post({ kind: 'open', call, settings });
    return {
      write: (message) => post({ kind: 'write', call, message }, buffersIn(message)),
      cancel: (reason) => {
        if (!this.open.has(call)) return;
        post({ kind: 'cancel', call });
        this.open.delete(call);
        ended(reason);
      },
      close: async () => {
        if (!this.open.has(call)) return;
        post({ kind: 'close', call });
        this.open.set(call, { receive: () => {}, ended: closed, closed });
        await gone;
        this.open.delete(call);
      },
    };
  };

  private launch(): ThreadHandle {
    const { threads } = this.world;
    const pulse = new PulseWatch(this.world, (reason) => this.hung(`the thread of links ${reason}`));
    const thread = threads.start(compiledNextTo(import.meta.url, 'link-thread.js'), {
      name: 'links',
      workerData: pulse.buffer,
    });
    let reason = '';
    thread.on('message', (message: FromThread) => this.receive(message));
    // After listening, which would keep the process alive.
    thread.unref();
    thread.on('error', (error) => {
      reason = error.message;
    });
    thread.on('exit', (status) => {
      pulse.stop();
      this.thread = null;
      const open = [...this.open.values()];
      this.open.clear();
      const why = `the thread of links has ended: ${reason || `it ended with status ${status}`}`;
      for (const { ended } of open) ended(why);
    });
    this.thread = thread;
    return thread;
  }

  private receive(message: FromThread): void {
    const open = this.open.get(message.call);
    if (message.kind === 'received') open?.receive(message.message);
    else if (message.kind === 'closed') open?.closed();
    else {
      this.open.delete(message.call);
      open?.ended(message.reason);
    }
  }
}

/** Body of the thread. */
export function runCalls(world: Pick<World, 'time' | 'network'>, port: ThreadPort, pulse: PulseBuffer): void {
  const callWorker = callsFrom(world);
  const calls = new Map<number, WorkerCall>();
  const post = (message: FromThread, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);
  const open = (call: number, settings: WorkerCallSettings) =>
    callWorker(inBuffers(settings), {
      receive: (message) => post({ kind: 'received', call, message }, buffersIn(message)),
      ended: (reason) => {
        calls.delete(call);
        post({ kind: 'ended', call, reason });
      },
    });
  beat(pulse, world.time);
  port.on('message', (message: ToThread) => {
    const { call } = message;
    if (message.kind === 'open') calls.set(call, open(call, message.settings));
    else if (message.kind === 'write') calls.get(call)?.write(message.message);
    else if (message.kind === 'cancel') calls.get(call)?.cancel('');
    else {
      const closing = calls.get(call)?.close() ?? Promise.resolve();
      calls.delete(call);
      void closing.then(() => post({ kind: 'closed', call }));
    }
  });
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
