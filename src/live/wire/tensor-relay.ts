import { STATUS_ABORTED } from '../../core/action.js';
import type { ActionMessage, ResultMessage } from '../messages.js';
import { joined } from '../transfer.js';
import { chunk } from './chunks.js';
import type { ControllerMessage, WorkerMessage } from './protocol.js';

/** A stream with a worker, in both directions. */
interface Stream {
  write(message: ControllerMessage): void;
  receive(message: WorkerMessage): void;
}

/**
 * Passes kept tensors on between the workers of a controller, in the thread that has their streams: an action for the
 * worker that keeps them goes as it is; for another one they are fetched once, and sent with it.
 */
export class TensorRelay {
  private readonly streams = new Set<RelayedStream>();
  /** Actions that wait for tensors. */
  private waiting: { readonly to: RelayedStream; readonly action: ActionMessage }[] = [];

  open(stream: Stream): RelayedStream {
    const relayed = new RelayedStream(stream, this);
    this.streams.add(relayed);
    return relayed;
  }

  /** Drops actions for a worker that is to have none, or has gone with all that it kept. */
  drop(to: RelayedStream, hasGone: boolean): void {
    this.waiting = this.waiting.filter((each) => each.to !== to);
    if (hasGone) this.streams.delete(to);
    this.tryAgain();
  }

  tryAgain(): void {
    for (const { to, action } of this.waiting.splice(0)) to.submit([action]);
  }

  /** The action with its kept tensors; a result in its place if they are lost; null if it must wait for them. */
  resolve(to: RelayedStream, action: ActionMessage): ActionMessage | ResultMessage | null {
    const keys = new Set(action.kept?.map(({ key }) => key));
    const elsewhere = [...keys].filter((key) => !to.kept.has(key));
    if (elsewhere.length === 0) return action;
    const holders = [...this.streams];
    const lost = elsewhere.filter((key) => holders.every(({ kept }) => !kept.has(key)));
    if (lost.length > 0) return calledOff(action, lost);
    const tensors = new Map<number, Uint8Array>();
    for (const key of elsewhere)
      for (const { kept } of holders) {
        const tensor = kept.get(key);
        if (tensor) tensors.set(key, tensor);
      }
    const missing = elsewhere.filter((key) => !tensors.has(key));
    if (missing.length === 0) return withKept(action, (key) => tensors.get(key));
    for (const holder of holders) holder.fetch(missing);
    this.waiting.push({ to, action });
    return null;
  }
}

/** A stream whose worker's kept tensors are known. */
class RelayedStream {
  /** By key; null: not fetched. */
  readonly kept = new Map<number, Uint8Array | null>();
  private readonly fetching = new Set<number>();
  private isOpen = true;

  constructor(
    private readonly stream: Stream,
    private readonly relay: TensorRelay,
  ) {}

  write(message: ControllerMessage): void {
    if (message.body === 'actions') this.submit(message.actions);
    else if (message.body === 'forget') this.forget(message.keys);
    else {
      // What was sent before has no result then.
      if (message.body === 'ask' && message.question.what === 'quiesce') this.relay.drop(this, false);
      this.stream.write(message);
    }
  }

  receive(message: WorkerMessage): void {
    if (message.body === 'fetched') {
      for (const { key, outputs } of message.results)
        if (this.fetching.delete(key) && this.kept.delete(key) && outputs.length > 0)
          this.kept.set(key, outputs[0]);
      this.relay.tryAgain();
      return;
    }
    if (message.body === 'results')
      for (const { kept = [] } of message.results) for (const key of kept) this.kept.set(key, null);
    this.stream.receive(message);
  }

  /** Call when the stream has ended, or is closed. */
  ended(): void {
    this.isOpen = false;
    this.relay.drop(this, true);
  }

  submit(actions: readonly ActionMessage[]): void {
    if (!this.isOpen) return;
    const ready: ActionMessage[] = [];
    for (const action of actions) {
      const resolved = action.kept === undefined ? action : this.relay.resolve(this, action);
      if (resolved === null) continue;
      if ('outputs' in resolved) this.stream.receive({ body: 'results', results: [resolved] });
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
