import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { monotonicNs } from '../base/clock/clock.js';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { NS_PER_MS } from '../base/units.js';
import type { ResultMessage } from './messages.js';
import { ServiceError } from './service.js';

/** Size above which tensors are moved from thread to thread; smaller ones are copied. */
export const LARGE_BYTES = 16 * 1024;

/** True if requests of a batch get such tensors in buffers of their own, so that each can be moved alone. */
export function areApart(tensors: readonly { readonly bytes: number }[], count: number): boolean {
  return count > 1 && tensors.some(({ bytes }) => bytes > LARGE_BYTES);
}

/** True if nothing else lies in the buffer of a tensor. */
export function isAlone({ byteLength, buffer }: Uint8Array): boolean {
  return byteLength === buffer.byteLength;
}

/** Alignment of copies, so that any element type can be read in place. */
const ALIGNMENT = 8;

/** Copies of tensors in one buffer, which can be moved to another thread. */
export function copied(tensors: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  let bytes = 0;
  for (const { length } of tensors) bytes += aligned(length);
  // Not empty: a buffer without bytes is taken for one that was moved.
  const all = new Uint8Array(Math.max(bytes, ALIGNMENT));
  let at = 0;
  return tensors.map((tensor) => {
    const copy = all.subarray(at, at + tensor.length);
    copy.set(tensor);
    at += aligned(tensor.length);
    return copy;
  });
}

/** Tensors in sequence: a copy, unless there is only one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const full = parts.filter(({ length }) => length > 0);
  if (full.length === 1) return full[0];
  const all = new Uint8Array(full.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of full) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** Buffers to move to another thread, instead of copying them. They must be whole. */
export function buffersOf(messages: readonly (readonly Uint8Array[])[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const parts of messages) {
    // An empty buffer may have been moved before, which cannot be done twice.
    for (const part of parts) if (part.byteLength > 0) buffers.add(part.buffer as ArrayBuffer);
  }
  return [...buffers];
}

/** A port without a receiver: buffers moved to it are freed at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the buffers of large tensors or models now, without a turn of the event loop. Otherwise they stay until this
 * thread's garbage is collected, which an idle thread never does. No view of these buffers may be used afterwards.
 */
export function freeLarge(tensors: readonly Uint8Array[]): void {
  let buffers: Set<ArrayBuffer> | null = null;
  for (let i = 0; i < tensors.length; i++) {
    if (tensors[i].length <= LARGE_BYTES) continue;
    buffers ??= new Set();
    buffers.add(tensors[i].buffer as ArrayBuffer);
  }
  if (buffers !== null) nowhere.postMessage(null, [...buffers]);
}

/** Shared memory of a signal, which can cross into another thread. */
export type SignalBuffer = SharedArrayBuffer;

/** Cells of the shared memory. */
const COUNT = 0;
const STOPPED = 1;

/**
 * Wake-up latency of a blocked thread (measured on Linux: p90 0.10 ms, p99 0.16 ms). So it is woken this much early,
 * and polls the clock for the rest.
 */
const LATE_WAKE_NS = 150_000;

/**
 * Wakes a thread that blocks until it has a message. The sender first posts the message, then raises the signal; the
 * receiver first reads `count`, then looks for messages, and waits only while the count is unchanged. So no message is
 * missed.
 */
export class Signal {
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SignalBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.cells = new Int32Array(buffer);
  }

  get count(): number {
    return Atomics.load(this.cells, COUNT);
  }

  raise(): void {
    Atomics.add(this.cells, COUNT, 1);
    Atomics.notify(this.cells, COUNT);
  }

  /** Tells the thread to end as soon as possible. */
  stop(): void {
    Atomics.store(this.cells, STOPPED, 1);
    this.raise();
  }

  get stopped(): boolean {
    return Atomics.load(this.cells, STOPPED) === 1;
  }

  /** Blocks this thread until the count is no longer `count`, or until about the time; Infinity: no limit. */
  block(count: number, untilNs: number): void {
    const blockNs = untilNs - monotonicNs();
    if (blockNs > 0) Atomics.wait(this.cells, COUNT, count, blockNs / NS_PER_MS);
  }

  /** Like `block`, but accurate to the microsecond: polls the clock at the end. */
  wait(count: number, untilNs: number): void {
    this.block(count, untilNs - LATE_WAKE_NS);
    while (this.count === count && monotonicNs() < untilNs);
  }
}

/** Side whose turn it is. */
const IDLE = 0;
const ASKED = 1;
const ENDED = 2;

/** Layout in bytes: an id and four times, then two small numbers. */
const NUMBERS = 5;
const NUMBERS_BYTES = NUMBERS * Float64Array.BYTES_PER_ELEMENT;
const CELLS_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;
const ID = 0;
const BEGIN_NS = 1;
const END_NS = 2;
const COPY_IN_NS = 3;
const COPY_OUT_NS = 4;
const STATE = 0;
const STATUS = 1;

/** Result of an INFER, without its outputs. */
export type ExecEnd = Pick<ResultMessage, 'status' | 'beginNs' | 'endNs' | 'copyInNs' | 'copyOutNs'>;

/**
 * Handover of the EXEC lane between an executor thread and a host thread: one INFER at a time, by shared memory. A
 * message costs both of them ten times as much right after an INFER, when the weights have displaced the caches
 * (measured: 60 µs instead of 8), and the lane idles for as long.
 */
export class ExecLine {
  private readonly numbers: Float64Array<SharedArrayBuffer>;
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(NUMBERS_BYTES + CELLS_BYTES)) {
    this.numbers = new Float64Array(buffer, 0, NUMBERS);
    this.cells = new Int32Array(buffer, NUMBERS_BYTES, 2);
  }

  /** For the executor thread: requests the INFER of this action, which has been staged. Raise the signal afterwards. */
  ask(id: number): void {
    this.numbers[ID] = id;
    Atomics.store(this.cells, STATE, ASKED);
  }

  /** For the host thread: requested action; −1: none. */
  get asked(): number {
    return Atomics.load(this.cells, STATE) === ASKED ? this.numbers[ID] : -1;
  }

  /** For the host thread: ends the requested action. Raise the signal afterwards. */
  end({ status, beginNs, endNs, copyInNs, copyOutNs }: ExecEnd): void {
    this.numbers[BEGIN_NS] = beginNs;
    this.numbers[END_NS] = endNs;
    this.numbers[COPY_IN_NS] = copyInNs;
    this.numbers[COPY_OUT_NS] = copyOutNs;
    this.cells[STATUS] = status;
    Atomics.store(this.cells, STATE, ENDED);
  }

  /** For the executor thread: end of the action that it requested, once; null: not yet. */
  takeEnd(): ExecEnd | null {
    if (Atomics.load(this.cells, STATE) !== ENDED) return null;
    Atomics.store(this.cells, STATE, IDLE);
    const { numbers } = this;
    return {
      status: this.cells[STATUS],
      beginNs: numbers[BEGIN_NS],
      endNs: numbers[END_NS],
      copyInNs: numbers[COPY_IN_NS],
      copyOutNs: numbers[COPY_OUT_NS],
    };
  }
}

/** Connection from a thread to the one that started it: the subset of node:worker_threads' parentPort in use. */
export type ThreadPort = Pick<MessagePort, 'postMessage'> & {
  on<Message>(event: 'message', heard: (message: Message) => void): unknown;
};

// biome-ignore lint/suspicious/noExplicitAny: methods of every signature
type Methods = Record<string, (...args: any[]) => unknown>;

/** A call: `id` 0 wants no reply. Or the reply to one: no method, its value, and its error if it failed. */
type Message =
  | readonly [id: number, method: string, args: readonly unknown[]]
  | readonly [id: number, method: null, value: unknown, failure?: Failure];

/** An error on its way between threads, which takes its class from it. */
interface Failure {
  readonly name: string;
  readonly kind: never;
  readonly message: string;
  readonly place?: ErrorPlace;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** Methods of one thread that another calls, both ways. */
export class Channel<Peer extends object> {
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  /** `own`: what the peer may call. */
  constructor(
    private readonly port: ThreadPort,
    private readonly own: object,
  ) {
    port.on('message', (message: Message) => this.receive(message));
  }

  /** Calls a method that returns nothing. Throws what makes the arguments impossible to send. */
  send<M extends keyof Peer & string>(
    method: M,
    args: Peer[M] extends (...args: infer Args) => unknown ? Args : never,
    transfer: readonly ArrayBuffer[] = [],
  ): void {
    this.port.postMessage([0, method, args] satisfies Message, transfer);
  }

  /** Calls a method; rejects with its error, or with that of `end`. */
  call<M extends keyof Peer & string>(
    method: M,
    ...args: Peer[M] extends (...args: infer Args) => unknown ? Args : never
  ): Promise<Peer[M] extends (...args: never[]) => infer Result ? Awaited<Result> : never> {
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.last, { resolve, reject });
      this.port.postMessage([this.last, method, args] satisfies Message);
    });
  }

  /** The peer has gone: what waits for its replies gets this error. */
  end(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private receive(message: Message): void {
    const [id, method] = message;
    if (method === null) this.settle(message);
    else if (id === 0) (this.own as Methods)[method](...message[2]);
    else void this.answer(id, () => (this.own as Methods)[method](...message[2]));
  }

  private async answer(id: number, act: () => unknown): Promise<void> {
    let reply: Message;
    try {
      reply = [id, null, await act()];
    } catch (error) {
      reply = [id, null, undefined, failureOf(error as Error)];
    }
    this.port.postMessage(reply);
  }

  private settle([id, , value, failure]: Message): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (failure === undefined) waiting?.resolve(value as never);
    else waiting?.reject(errorOf(failure));
  }
}

function failureOf(error: Error): Failure {
  const { name, message } = error;
  if (!(error instanceof EscapementError))
    return { name, kind: (error as ServiceError).kind as never, message };
  return { name: EscapementError.name, kind: error.code as never, message: error.what, place: error.place };
}

function errorOf({ name, kind, message, place }: Failure): Error {
  if (name === 'ServiceError') return new ServiceError(kind, message);
  return name === 'EscapementError' ? new EscapementError(kind, message, place) : new Error(message);
}
