import type { Time } from '../../base/world/time.js';
import { STATUS_ABORTED } from '../../core/action.js';
import type { ActionMessage, ResultMessage } from '../messages.js';
import { joined } from '../transfer.js';
import { chunk } from './chunks.js';
import type { ClientTls } from './credentials.js';
import { helloToHeaders } from './hello.js';
import type { Network } from './network.js';
import { type ControllerMessage, WORKER_MESSAGES, WORKER_SERVICE, type WorkerMessage } from './protocol.js';
import { StreamCall } from './stream-call.js';

/** Plain data. */
export interface WorkerCallSettings {
  /** HOST:PORT. */
  readonly address: string;
  /** Empty: none. */
  readonly token: string;
  /** Absent: no encryption. */
  readonly tls: ClientTls | undefined;
  /** Name of the controller. */
  readonly controller: string;
  /** Largest message accepted from the worker. */
  readonly maxMessageBytes: number;
}

export interface WorkerCallEvents {
  /** Outputs of results own their memory. */
  receive(message: WorkerMessage): void;
  /** The stream has ended, with a reason for people. Called once, last; not after `close`. */
  ended(reason: string): void;
}

/** A stream of a controller with a worker. */
export interface WorkerCall {
  write(message: ControllerMessage): void;
  /** Breaks off without notifying the worker. */
  cancel(reason: string): void;
  /** Takes leave of the worker, and waits briefly until it has hung up. */
  close(): Promise<void>;
}

export type CallWorker = (settings: WorkerCallSettings, events: WorkerCallEvents) => WorkerCall;

const BYE_TIMEOUT_MS = 1000;

/** Parts of the process's world that calls of workers use. */
interface CallWorld {
  readonly time: Time;
  readonly network: Network;
}

/** Calls workers from this thread, and relays tensors that they keep. */
export function callsFrom(world: CallWorld): CallWorker {
  const relay = new TensorRelay();
  return (settings, events) => new RelayedCall(relay, world, settings, events);
}

/**
 * Passes kept tensors on between the workers of a controller, in the thread that has their streams: an action for the
 * worker that keeps them goes as it is; for another one they are fetched once, and sent with it.
 */
class TensorRelay {
  private readonly calls = new Set<RelayedCall>();
  /** Actions that wait for tensors. */
  private waiting: { readonly to: RelayedCall; readonly action: ActionMessage }[] = [];

  add(call: RelayedCall): void {
    this.calls.add(call);
  }

  /** Drops actions for a worker that is to have none, or has gone with all that it kept. */
  drop(to: RelayedCall, hasGone: boolean): void {
    this.waiting = this.waiting.filter((each) => each.to !== to);
    if (hasGone) this.calls.delete(to);
    this.tryAgain();
  }

  tryAgain(): void {
    for (const { to, action } of this.waiting.splice(0)) to.submit([action]);
  }

  /** The action with its kept tensors; a result in its place if they are lost; null if it must wait for them. */
  resolve(to: RelayedCall, action: ActionMessage): ActionMessage | ResultMessage | null {
    const keys = new Set(action.kept?.map(({ key }) => key));
    const elsewhere = [...keys].filter((key) => !to.kept.has(key));
    if (elsewhere.length === 0) return action;
    const holders = [...this.calls];
    const lost = elsewhere.filter((key) => holders.every(({ kept }) => !kept.has(key)));
    if (lost.length > 0) return calledOff(action, lost);
    const tensorOf = (key: number) => holders.map(({ kept }) => kept.get(key)).find((tensor) => tensor);
    const missing = elsewhere.filter((key) => !tensorOf(key));
    if (missing.length === 0)
      return withKept(action, (key) => (to.kept.has(key) ? undefined : (tensorOf(key) ?? undefined)));
    for (const holder of holders) holder.fetch(missing);
    this.waiting.push({ to, action });
    return null;
  }
}

/** A stream with a worker whose kept tensors are known. */
class RelayedCall implements WorkerCall {
  /** By key; null: not fetched. */
  readonly kept = new Map<number, Uint8Array | null>();
  private readonly fetching = new Set<number>();
  private readonly stream: StreamCall<ControllerMessage, WorkerMessage>;
  private isOpen = true;

  constructor(
    private readonly relay: TensorRelay,
    { time, network }: CallWorld,
    { token, controller, ...settings }: WorkerCallSettings,
    private readonly events: WorkerCallEvents,
  ) {
    const { maxMessageBytes } = settings;
    relay.add(this);
    this.stream = new StreamCall<ControllerMessage, WorkerMessage>({
      ...{ ...settings, time, network, peer: 'worker' },
      method: WORKER_SERVICE.Drive,
      headers: helloToHeaders({ token, controller, maxMessageBytes }),
      decode: (bytes) => WORKER_MESSAGES.decode(bytes),
      receive: (message) => this.receive(withOwnOutputs(message)),
      ended: (reason) => {
        this.ended();
        events.ended(reason);
      },
    });
  }

  write(message: ControllerMessage): void {
    if (message.body === 'actions') this.submit(message.actions);
    else if (message.body === 'forget') this.forget(message.keys);
    else {
      // What was sent before has no result then.
      if (message.body === 'ask' && message.question.what === 'quiesce') this.relay.drop(this, false);
      this.stream.write(message);
    }
  }

  cancel(reason: string): void {
    this.stream.cancel(reason);
  }

  close(): Promise<void> {
    this.ended();
    return this.stream.close({ body: 'bye' }, BYE_TIMEOUT_MS);
  }

  submit(actions: readonly ActionMessage[]): void {
    if (!this.isOpen) return;
    const ready: ActionMessage[] = [];
    for (const action of actions) {
      const resolved = action.kept === undefined ? action : this.relay.resolve(this, action);
      if (resolved === null) continue;
      if ('outputs' in resolved) this.events.receive({ body: 'results', results: [resolved] });
      else ready.push(resolved);
    }
    for (const part of chunk(ready, ({ inputs }) => inputs))
      this.stream.write({ body: 'actions', actions: part });
  }

  /** Requests the tensors that the worker keeps. */
  fetch(keys: readonly number[]): void {
    const wanted = keys.filter((key) => this.kept.get(key) === null && !this.fetching.has(key));
    for (const key of wanted) this.fetching.add(key);
    if (wanted.length > 0) this.stream.write({ body: 'fetch', keys: wanted });
  }

  private receive(message: WorkerMessage): void {
    if (message.body === 'fetched') {
      for (const { key, outputs } of message.results)
        if (this.fetching.delete(key) && this.kept.delete(key) && outputs.length > 0)
          this.kept.set(key, outputs[0]);
      this.relay.tryAgain();
      return;
    }
    if (message.body === 'results')
      for (const { kept = [] } of message.results) for (const key of kept) this.kept.set(key, null);
    this.events.receive(message);
  }

  private ended(): void {
    this.isOpen = false;
    this.relay.drop(this, true);
  }

  private forget(keys: readonly number[]): void {
    const own = keys.filter((key) => this.kept.delete(key));
    if (own.length > 0) this.stream.write({ body: 'forget', keys: own });
    this.relay.tryAgain();
  }
}

/** The action with the kept parts that were found. */
export function withKept(
  action: ActionMessage,
  find: (key: number) => Uint8Array | undefined,
): ActionMessage {
  const { kept = [], ...rest } = action;
  const left = kept.filter(({ key }) => find(key) === undefined);
  const inputs = action.inputs.map((data, index) => {
    const pieces: Uint8Array[] = [];
    // Ends of the pieces so far, in the sent bytes and in the input.
    let from = 0;
    let to = 0;
    for (const { input, at, key, begin, end } of kept) {
      if (input !== index) continue;
      pieces.push(data.subarray(from, from + at - to), find(key)?.subarray(begin, end) ?? NOTHING);
      from += at - to;
      to = at + end - begin;
    }
    return joined([...pieces, data.subarray(from)]);
  });
  return { ...rest, inputs, ...(left.length > 0 ? { kept: left } : {}) };
}

const NOTHING = new Uint8Array();

/** Result of an action that cannot be sent: others of its batch are tried again. */
function calledOff({ id, gpu }: ActionMessage, lost: readonly number[]): ResultMessage {
  const times = { beginNs: 0, endNs: 0, copyInNs: 0, copyOutNs: 0 };
  return { id, gpu, status: STATUS_ABORTED, ...times, outputs: [], error: '', lost };
}

/** Decoded tensors are parts of their message, and would keep all of it. */
function withOwnOutputs(message: WorkerMessage): WorkerMessage {
  if (message.body !== 'results' && message.body !== 'fetched') return message;
  const results = message.results.map((result) => ({
    ...result,
    outputs: result.outputs.map((output) => new Uint8Array(output)),
  }));
  return { ...message, results } as WorkerMessage;
}
