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
import { Channel, freeLarge, isAlone, LARGE_BYTES, type ThreadPort } from '../../transfer.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { ThreadHandle } from '../../world/threads.js';
import type { FrontendOptions } from '../frontend.js';

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
  answers(packed: Packed): void;
  state(state: ServiceState): void;
}

const SERVICE_METHODS = ['load', 'wants', 'unload', 'takeOver', 'look', 'statistics'] as const;

/** Methods of the thread of the service. */
interface ServiceCalls extends Pick<InferenceService, (typeof SERVICE_METHODS)[number]> {
  requests(packed: Packed): void;
  /** The client of a request has gone. */
  cancel(slot: number): void;
  /** Connections of a client were turned away. */
  turnedAway(client: string): void;
}

/**
 * Requests or answers one after the other: the slot, the number of tensors, these, and the fields below. One flat list crosses in
 * less than two thirds of the time of objects in a list.
 */
type Packed = readonly unknown[];

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
      answers: (packed) => unpack(packed, ANSWERED, (...item) => this.answer(...item)),
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
    if (this.outbox.add(slot, request.inputs, request, ASKED)) this.clock.time.soon(this.flush);
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
    this.outbox.empty((packed, transfer) => this.channel.send('requests', [packed], transfer));
  }

  private answer(slot: number, outputs: InferenceAnswer['outputs'], fields: Partial<InferenceAnswer>): void {
    const request = this.requests[slot] ?? null;
    if (request === null) return;
    this.requests[slot] = null;
    this.freeSlots.push(slot);
    const answer = Object.assign(fields, { outputs }) as InferenceAnswer;
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
      requests: (packed) => this.take(packed),
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
  private take(packed: Packed): void {
    const requests: InferenceRequest[] = [];
    unpack<InferenceRequest>(packed, ASKED, (slot, inputs, fields) => {
      for (const { buffer, length } of inputs)
        if (length > LARGE_BYTES) this.uses.set(buffer, (this.uses.get(buffer) ?? 0) + 1);
      const done = (answer: InferenceAnswer) => this.answer(slot, answer, inputs);
      const request = Object.assign(fields, { inputs, done }) as InferenceRequest;
      this.waiting[slot] = request;
      requests.push(request);
    });
    for (const request of requests) this.service.infer(request);
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
    if (this.outbox.add(slot, outputs, answer, ANSWERED)) queueMicrotask(this.flush);
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
    this.outbox.empty((packed, transfer) => {
      if (this.isOver) return;
      try {
        this.channel.send('answers', [packed], transfer);
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
  private packed: unknown[] = [];
  private readonly buffers = new Set<ArrayBuffer>();

  /** Returns true for the first item. The buffer of a large tensor moves with the message, so no other message may have a part of it. */
  add<T>(slot: number, tensors: readonly Uint8Array[], of: T, names: readonly (keyof T)[]): boolean {
    const { packed } = this;
    const isFirst = packed.length === 0;
    packed.push(slot, tensors.length);
    for (const tensor of tensors) {
      const { buffer, byteOffset, length } = tensor;
      if (length <= LARGE_BYTES) packed.push(Buffer.from(buffer, byteOffset, length).toString('latin1'));
      else {
        this.buffers.add(buffer as ArrayBuffer);
        packed.push(tensor);
      }
    }
    for (const name of names) packed.push(of[name]);
    return isFirst;
  }

  /** Sends everything, with the buffers to transfer, unless it is empty. */
  empty(send: (packed: Packed, transfer: readonly ArrayBuffer[]) => void): void {
    const { packed } = this;
    if (packed.length === 0) return;
    const transfer = [...this.buffers];
    this.packed = [];
    this.buffers.clear();
    send(packed, transfer);
  }
}

/** Calls `use` with each item. A small tensor comes as a text with a character per byte, which crosses faster than a buffer. */
function unpack<T>(
  packed: Packed,
  names: readonly (keyof T)[],
  use: (slot: number, tensors: readonly Uint8Array<ArrayBuffer>[], fields: Partial<T>) => void,
): void {
  for (let at = 0; at < packed.length; ) {
    const slot = packed[at++] as number;
    const tensors = new Array<Uint8Array<ArrayBuffer>>(packed[at++] as number);
    for (let i = 0; i < tensors.length; i++) {
      const tensor = packed[at++] as string | Uint8Array<ArrayBuffer>;
      tensors[i] = typeof tensor === 'string' ? Buffer.from(tensor, 'latin1') : tensor;
    }
    const fields: Partial<T> = {};
    for (const name of names) fields[name] = packed[at++] as never;
    use(slot, tensors, fields);
  }
}
