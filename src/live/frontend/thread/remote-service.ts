import type { Clock } from '../../../base/clock/clock.js';
import type { PulseBuffer } from '../../pulse.js';
import type {
  InferenceAnswer,
  InferenceRequest,
  InferenceService,
  ModelStatistics,
  RequestKeeper,
  ServiceState,
  WatchedService,
} from '../../service.js';
import { freeLarge, isAlone, LARGE_BYTES } from '../../transfer.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { ThreadHandle, ThreadPort } from '../../world/threads.js';
import type { FrontendOptions } from '../frontend.js';
import { Channel } from './channel.js';

export type Transport = 'http' | 'grpc';

/** Start data of a frontend thread. */
export interface FrontendThreadData {
  readonly transport: Transport;
  readonly options: FrontendOptions;
  /** `monotonicNs` of the instant that is 0 on the service's clock. */
  readonly originNs: number;
  readonly state: ServiceState;
  /** Pulse of this thread. */
  readonly pulse: PulseBuffer;
  /** Pulse of the service's thread. */
  readonly servicePulse: PulseBuffer;
}

/** Methods of a frontend thread that are about the frontend itself. */
export interface FrontendCalls {
  /** Resolves with the port. Rejects as the transport does. */
  open(): Promise<number>;
  close(graceful: boolean): Promise<void>;
  renew(tls: ServerTls): Promise<void>;
}

/** All methods of a frontend thread. */
interface ThreadCalls extends FrontendCalls {
  answers(items: readonly Packed[]): void;
  state(state: ServiceState): void;
}

const SERVICE_METHODS = ['load', 'wants', 'unload', 'takeOver', 'look', 'statistics'] as const;

/** Methods of the thread of the service. */
interface ServiceCalls extends Pick<InferenceService, (typeof SERVICE_METHODS)[number]> {
  requests(items: readonly Packed[]): void;
  /** The client of a request has gone. */
  cancel(slot: number): void;
  /** Connections of a client were turned away. */
  turnedAway(client: string): void;
}

/** A tensor on its way to another thread: a small one as a text with a character per byte, which crosses faster than a buffer. */
type PackedTensor = string | Uint8Array<ArrayBuffer>;

/** The slot of a request, the tensors of it or its answer, and the fields below. A list crosses in two thirds of the time of an object. */
type Packed = readonly [slot: number, tensors: readonly PackedTensor[], fields: readonly unknown[]];

const ASKED = [
  'model',
  'user',
  'requestClass',
  'tenant',
  'length',
  'arrivalNs',
  'sloNs',
  'shapes',
  'trace',
] as const;
const ANSWERED = [
  ...(['outcome', 'predictedNs', 'passedNs', 'batchSize', 'error', 'shapes'] as const),
  ...(['isOfInputs', 'isOverLimit'] as const),
] as const;

/** The service as seen by frontends in another thread. Their requests of one turn of the event loop are one message. */
export class RemoteService implements InferenceService, RequestKeeper {
  readonly channel: Channel<ServiceCalls>;
  /**
   * By slot; null: it has its answer, and the slot is used again. A `Map` would leave its old tables behind, each of which
   * refers to the next one: once one of them is old, the collector takes all that come after it for alive.
   */
  private readonly requests: (InferenceRequest | null)[] = [];
  private readonly freeSlots: number[] = [];
  private readonly outbox = new Outbox();
  private readonly flush = () => this.send();
  /** While the service's thread hangs: its last state, which says so. */
  private hungState: ServiceState | null = null;

  constructor(
    private lastState: ServiceState,
    /** The service's. */
    private readonly clock: Clock,
    port: ThreadPort,
    frontend: FrontendCalls,
  ) {
    const calls: ThreadCalls = {
      ...frontend,
      answers: (items) => {
        for (const answer of items) this.answer(answer);
      },
      state: (state) => {
        this.lastState = state;
      },
    };
    this.channel = new Channel(port, calls);
  }

  get state(): ServiceState {
    return this.hungState ?? this.lastState;
  }

  /** The service's thread hangs, for this reason; null: it goes on. */
  hangs(reason: string | null): void {
    const notReady = `the thread that schedules ${reason}`;
    this.hungState =
      reason === null ? null : { ...this.lastState, notReady, takesRequests: false, hangs: true };
  }

  nowNs(): number {
    return this.clock.nowNs();
  }

  infer(request: InferenceRequest): void {
    const slot = this.freeSlots.pop() ?? this.requests.length;
    this.requests[slot] = request;
    request.keeper = this;
    request.slot = slot;
    if (this.outbox.add(slot, request.inputs, fieldsOf(request, ASKED))) this.clock.time.soon(this.flush);
  }

  cancel({ slot = -1 }: InferenceRequest): void {
    // It may wait here to be sent.
    this.send();
    this.channel.send('cancel', [slot]);
  }

  load(name: string, config?: string): Promise<void> {
    return this.channel.call('load', name, config);
  }

  wants(name: string): Promise<void> {
    return this.channel.call('wants', name);
  }

  unload(name: string): Promise<void> {
    return this.channel.call('unload', name);
  }

  takeOver(): Promise<void> {
    return this.channel.call('takeOver');
  }

  look(): Promise<void> {
    return this.channel.call('look');
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.channel.call('statistics');
  }

  private send(): void {
    this.outbox.empty((items, transfer) => this.channel.send('requests', [items], transfer));
  }

  private answer([slot, outputs, fields]: Packed): void {
    const request = this.requests[slot] ?? null;
    if (request === null) return;
    this.requests[slot] = null;
    this.freeSlots.push(slot);
    const answer = unpacked<InferenceAnswer>({ outputs: outputs.map(tensorOf) }, fields, ANSWERED);
    request.done(answer);
  }
}

/** Requests of one frontend thread in the thread of the service. Answers of one step go back together. */
export class ThreadRequests {
  readonly channel: Channel<ThreadCalls>;
  /** True once its thread has ended, or hangs: answers are dropped. */
  private isOver = false;
  private readonly outbox = new Outbox();
  private spent: Uint8Array[] = [];
  /** Inputs that lie in a buffer and are still needed. */
  private readonly uses = new Map<ArrayBufferLike, number>();
  private readonly flush = () => this.send();
  /** By slot; null: it has its answer. */
  private readonly waiting: (InferenceRequest | null)[] = [];

  constructor(
    private readonly service: WatchedService,
    private readonly thread: ThreadHandle,
    turnedAway: (client: string) => void,
  ) {
    const methods = SERVICE_METHODS.map((name) => [
      name,
      (...args: [never, never]) => service[name](...args),
    ]);
    this.channel = new Channel(thread as ThreadPort, {
      ...Object.fromEntries(methods),
      turnedAway,
      requests: (items) => this.take(items),
      // Unless it was answered meanwhile.
      cancel: (slot) => {
        const request = this.waiting[slot] ?? null;
        if (request !== null) request.keeper?.cancel(request);
      },
    } satisfies Omit<ServiceCalls, keyof InferenceService>);
  }

  /** Resolves when the thread has the present state of the service, or is used no more. */
  async tell(): Promise<void> {
    if (!this.isOver) await this.channel.call('state', this.service.state).catch(() => {});
  }

  /** Uses the thread no more. */
  end(reason: string): void {
    this.isOver = true;
    this.channel.end(new Error(reason));
  }

  /** Requests of a batch share buffers, and one may have its answer before the next is offered. */
  private take(requests: readonly Packed[]): void {
    for (const [, tensors] of requests)
      for (const input of tensors)
        if (typeof input !== 'string') this.uses.set(input.buffer, (this.uses.get(input.buffer) ?? 0) + 1);
    for (const [slot, tensors, fields] of requests) {
      const inputs = tensors.map(tensorOf);
      const done = (answer: InferenceAnswer) => this.answer(slot, answer, inputs);
      const request = unpacked<InferenceRequest>({ inputs, done }, fields, ASKED);
      this.waiting[slot] = request;
      this.service.infer(request);
    }
  }

  /** `inputs`: buffers of the request, which are no longer needed. */
  private answer(slot: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]): void {
    this.waiting[slot] = null;
    // Answers to other clients may have a part of a large buffer.
    const outputs = answer.outputs.map((output) =>
      output.length <= LARGE_BYTES || isAlone(output) ? output : new Uint8Array(output),
    );
    for (const input of inputs) this.release(input);
    // After all answers of this step, without a turn of the event loop in between.
    if (this.outbox.add(slot, outputs, fieldsOf(answer, ANSWERED))) queueMicrotask(this.flush);
  }

  /** Releases an input; its buffer is freed with the last input that shares it. */
  private release(input: Uint8Array): void {
    if (input.length <= LARGE_BYTES) return;
    const uses = (this.uses.get(input.buffer) as number) - 1;
    if (uses > 0) this.uses.set(input.buffer, uses);
    else {
      this.uses.delete(input.buffer);
      this.spent.push(input);
    }
  }

  private send(): void {
    this.outbox.empty((items, transfer) => {
      if (this.isOver) return;
      try {
        this.channel.send('answers', [items], transfer);
      } catch {
        // What cannot be sent ends the thread, not the process.
        void this.thread.terminate();
      }
    });
    if (this.spent.length === 0) return;
    freeLarge(this.spent);
    this.spent = [];
  }
}

/** Contents of the next message to another thread. */
class Outbox {
  private items: Packed[] = [];
  private readonly buffers = new Set<ArrayBuffer>();

  /** Returns true for the first item. The buffer of a large tensor moves with the message, so no other message may have a part of it. */
  add(slot: number, tensors: readonly Uint8Array[], fields: readonly unknown[]): boolean {
    const packed = tensors.map((tensor): PackedTensor => {
      const { buffer, byteOffset, length } = tensor;
      if (length <= LARGE_BYTES) return Buffer.from(buffer, byteOffset, length).toString('latin1');
      this.buffers.add(buffer as ArrayBuffer);
      return tensor as Uint8Array<ArrayBuffer>;
    });
    return this.items.push([slot, packed, fields]) === 1;
  }

  /** Sends everything, with the buffers to transfer, unless it is empty. */
  empty(send: (items: readonly Packed[], transfer: readonly ArrayBuffer[]) => void): void {
    const { items } = this;
    if (items.length === 0) return;
    const transfer = [...this.buffers];
    this.items = [];
    this.buffers.clear();
    send(items, transfer);
  }
}

function fieldsOf<T>(of: T, names: readonly (keyof T)[]): unknown[] {
  return names.map((name) => of[name]);
}

/** An object of `rest` and the fields of these names. */
function unpacked<T extends object>(
  rest: Partial<T>,
  fields: readonly unknown[],
  names: readonly (keyof T)[],
): T {
  const object = rest as T;
  for (let i = 0; i < names.length; i++) object[names[i]] = fields[i] as never;
  return object;
}

function tensorOf(tensor: PackedTensor): Uint8Array<ArrayBuffer> {
  return typeof tensor === 'string' ? Buffer.from(tensor, 'latin1') : tensor;
}
