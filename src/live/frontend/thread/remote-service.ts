import type { Clock } from '../../../base/clock/clock.js';
import type { ErrorCode } from '../../../base/errors.js';
import type { Outcome } from '../../../core/request.js';
import type { PulseBuffer } from '../../pulse.js';
import {
  type InferenceAnswer,
  type InferenceRequest,
  type InferenceService,
  type ModelStatistics,
  type RequestKeeper,
  ServiceError,
  type ServiceState,
  type WatchedService,
} from '../../service.js';
import { freeLarge, isAlone, LARGE_BYTES } from '../../transfer.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { ThreadHandle, ThreadPort } from '../../world/threads.js';
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

/** A tensor on its way to another thread: a small one as a text with a character per byte, which crosses faster than a buffer. */
type PackedTensor = string | Uint8Array<ArrayBuffer>;

/** The part of a request that leaves its thread. A list crosses in two thirds of the time of an object. */
type PackedRequest = readonly [
  id: number,
  model: number,
  user: number,
  requestClass: number,
  tenant: number,
  length: number,
  arrivalNs: number,
  sloNs: number,
  inputs: readonly PackedTensor[],
  shapes: InferenceRequest['shapes'],
  trace: string | null,
];

/** Index of the inputs in it. */
const INPUTS = 8;

/** An answer, with the id of its request. */
type PackedAnswer = readonly [
  id: number,
  outcome: Outcome,
  predictedNs: number,
  passedNs: number,
  batchSize: number,
  outputs: readonly PackedTensor[],
  error: string,
  shapes: InferenceAnswer['shapes'],
  isOfInputs: boolean | undefined,
  isOverLimit: boolean | undefined,
  waitedFor: string | undefined,
];

/** Calls of a frontend to the service other than inference. */
type ServiceMethod = 'load' | 'wants' | 'unload' | 'takeOver' | 'look' | 'statistics';

/** From a frontend to the service. */
type ToService =
  | { readonly kind: 'requests'; readonly items: readonly PackedRequest[] }
  /** The client of a request has gone. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** The state of the service is known. */
  | { readonly kind: 'notified' }
  | ServiceCall;

interface ServiceCall {
  readonly kind: 'call';
  readonly id: number;
  readonly method: ServiceMethod;
  /** Name of a model; '' for methods without one. */
  readonly name: string;
  /** Only for `load`. */
  readonly config: string | undefined;
}

/** From a frontend thread to its host, about itself. */
export type ToHost =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode | null; readonly message: string }
  /** A client was cut off. */
  | { readonly kind: 'cutOff'; readonly client: string; readonly why: string }
  /** Clients whose connections were rejected; not all are named. */
  | { readonly kind: 'turnedAway'; readonly clients: readonly string[] }
  /** No connection is left. */
  | { readonly kind: 'closed' };

/** From the service to a frontend. */
type FromService =
  | { readonly kind: 'answers'; readonly items: readonly PackedAnswer[] }
  | { readonly kind: 'state'; readonly state: ServiceState }
  | {
      readonly kind: 'called';
      readonly id: number;
      readonly statistics: readonly ModelStatistics[];
      readonly error: { readonly kind: ServiceError['kind'] | null; readonly message: string } | null;
    };

/** From the host to its frontend thread, about that. */
type FromHost =
  | { readonly kind: 'renew'; readonly tls: ServerTls }
  | { readonly kind: 'close'; readonly graceful: boolean };

type ToFrontend = FromService | FromHost;

/** The service as seen by frontends in another thread. Their requests of one turn of the event loop are one message. */
export class RemoteService implements InferenceService, RequestKeeper {
  /**
   * By slot; null: it has its answer, and the slot is used again. A `Map` would leave its old tables behind, each of which
   * refers to the next one: once one of them is old, the collector takes all that come after it for alive.
   */
  private readonly requests: (InferenceRequest | null)[] = [];
  private readonly freeSlots: number[] = [];
  private readonly calls = new Map<number, Waiting>();
  private readonly outbox = new Outbox<PackedRequest>();
  private lastCall = 0;
  private isDue = false;
  private readonly flush = () => this.send();

  /** While the service's thread hangs: its last state, which says so. */
  private hungState: ServiceState | null = null;

  constructor(
    private lastState: ServiceState,
    /** The service's. */
    private readonly clock: Clock,
    private readonly port: ThreadPort,
    /** Takes messages that are about the frontend itself. */
    others: (message: FromHost) => void,
  ) {
    port.on('message', (message: ToFrontend) => {
      if (message.kind === 'answers') for (const answer of message.items) this.answer(answer);
      else if (message.kind === 'state') {
        this.lastState = message.state;
        this.post({ kind: 'notified' });
      } else if (message.kind === 'called') this.called(message);
      else others(message);
    });
  }

  get state(): ServiceState {
    return this.hungState ?? this.lastState;
  }

  /** The service's thread hangs, for this reason; null: it goes on. */
  hangs(reason: string | null): void {
    this.hungState =
      reason === null
        ? null
        : {
            ...this.lastState,
            notReady: `the thread that schedules ${reason}`,
            takesRequests: false,
            hangs: true,
          };
  }

  nowNs(): number {
    return this.clock.nowNs();
  }

  infer(request: InferenceRequest): void {
    const slot = this.freeSlots.pop() ?? this.requests.length;
    this.requests[slot] = request;
    const { model, user, requestClass = 0, tenant = 0, length = 0, arrivalNs = this.nowNs() } = request;
    const { sloNs, shapes, trace = null } = request;
    const inputs = request.inputs.map((input) => this.outbox.pack(input));
    // Literals here and below: a spread takes microseconds.
    this.outbox.items.push([
      slot,
      model,
      user,
      requestClass,
      tenant,
      length,
      arrivalNs,
      sloNs,
      inputs,
      shapes,
      trace,
    ]);
    request.keeper = this;
    request.slot = slot;
    if (this.isDue) return;
    this.isDue = true;
    this.clock.time.soon(this.flush);
  }

  cancel({ slot = -1 }: InferenceRequest): void {
    // It may wait here to be sent.
    this.send();
    this.post({ kind: 'cancel', id: slot });
  }

  async load(name: string, config?: string): Promise<void> {
    await this.call('load', name, config);
  }

  async wants(name: string): Promise<void> {
    await this.call('wants', name);
  }

  async unload(name: string): Promise<void> {
    await this.call('unload', name);
  }

  async takeOver(): Promise<void> {
    await this.call('takeOver');
  }

  async look(): Promise<void> {
    await this.call('look');
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.call('statistics');
  }

  private send(): void {
    if (!this.isDue) return;
    this.isDue = false;
    const { items, transfer } = this.outbox.take();
    this.post({ kind: 'requests', items }, transfer);
  }

  private answer(packed: PackedAnswer): void {
    const [id, outcome, predictedNs, passedNs, batchSize, outputs, error, shapes] = packed;
    const request = this.requests[id] ?? null;
    if (request === null) return;
    this.requests[id] = null;
    this.freeSlots.push(id);
    const answer = {
      outcome,
      predictedNs,
      passedNs,
      batchSize,
      error,
      shapes,
      outputs: outputs.map(unpacked),
      isOfInputs: packed[8],
      isOverLimit: packed[9],
      waitedFor: packed[10],
    };
    request.done(answer);
  }

  private post(message: ToService, transfer: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, transfer);
  }

  private call(method: ServiceMethod, name = '', config?: string): Promise<readonly ModelStatistics[]> {
    const id = ++this.lastCall;
    this.post({ kind: 'call', id, method, name, config });
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }

  private called({ id, statistics, error }: Extract<ToFrontend, { readonly kind: 'called' }>): void {
    const waiting = this.calls.get(id);
    this.calls.delete(id);
    if (error === null) waiting?.resolve(statistics);
    else if (error.kind === null) waiting?.reject(new Error(error.message));
    else waiting?.reject(new ServiceError(error.kind, error.message));
  }
}

interface Waiting {
  resolve(statistics: readonly ModelStatistics[]): void;
  reject(error: Error): void;
}

/** Requests of one frontend thread in the thread of the service. Answers of one step go back together. */
export class ThreadRequests {
  /** True once its thread has ended, or hangs: answers are dropped. */
  private isOver = false;
  /** By state on its way to the thread, in order: called when it is there. */
  private readonly unconfirmed: (() => void)[] = [];
  private readonly outbox = new Outbox<PackedAnswer>();
  private isDue = false;
  private spent: Uint8Array[] = [];
  /** Inputs that lie in a buffer and are still needed. */
  private readonly uses = new Map<ArrayBufferLike, number>();
  private readonly flush = () => this.send();
  /** By id; null: it has its answer. */
  private readonly waiting: (InferenceRequest | null)[] = [];

  constructor(
    private readonly service: WatchedService,
    private readonly thread: Pick<ThreadHandle, 'on' | 'postMessage' | 'terminate'>,
    /** Takes messages that are about the frontend itself. */
    others: (message: ToHost) => void,
  ) {
    thread.on('message', (message: ToService | ToHost) => {
      if (message.kind === 'requests') this.take(message.items);
      else if (message.kind === 'cancel') this.cancel(message.id);
      else if (message.kind === 'call') void this.call(message);
      else if (message.kind === 'notified') this.unconfirmed.shift()?.();
      else others(message);
    });
  }

  /** Resolves when the thread has the present state of the service, or is used no more. */
  tell(): Promise<void> {
    if (this.isOver) return Promise.resolve();
    this.post({ kind: 'state', state: this.service.state });
    return new Promise((resolve) => this.unconfirmed.push(resolve));
  }

  /** Uses the thread no more. */
  end(): void {
    this.isOver = true;
    for (const resolve of this.unconfirmed) resolve();
  }

  /** Posts a message. One that cannot be sent ends the thread, not the process. */
  post(message: ToFrontend, transfer: readonly ArrayBuffer[] = []): void {
    if (this.isOver) return;
    try {
      this.thread.postMessage(message, transfer);
    } catch {
      void this.thread.terminate();
    }
  }

  /** Requests of a batch share buffers, and one may have its answer before the next is offered. */
  private take(requests: readonly PackedRequest[]): void {
    for (const packed of requests)
      for (const input of packed[INPUTS])
        if (typeof input !== 'string') this.uses.set(input.buffer, (this.uses.get(input.buffer) ?? 0) + 1);
    for (const request of requests) this.offer(request);
  }

  private offer(packed: PackedRequest): void {
    const [id, model, user, requestClass, tenant, length, arrivalNs, sloNs, inputs, shapes, trace] = packed;
    const request: InferenceRequest = {
      model,
      user,
      requestClass,
      tenant,
      length,
      arrivalNs,
      sloNs,
      shapes,
      trace,
      inputs: inputs.map(unpacked),
      done: (answer) => this.answer(id, answer, request.inputs),
    };
    this.waiting[id] = request;
    this.service.infer(request);
  }

  /** `inputs`: buffers of the request, which are no longer needed. */
  private answer(id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]): void {
    this.waiting[id] = null;
    // Answers to other clients may have a part of a large buffer.
    const outputs = answer.outputs.map((output) =>
      this.outbox.pack(output.length <= LARGE_BYTES || isAlone(output) ? output : new Uint8Array(output)),
    );
    const { outcome, predictedNs, passedNs = 0, batchSize, error, shapes } = answer;
    const { isOfInputs, isOverLimit, waitedFor } = answer;
    this.outbox.items.push([
      id,
      outcome,
      predictedNs,
      passedNs,
      batchSize,
      outputs,
      error,
      shapes,
      isOfInputs,
      isOverLimit,
      waitedFor,
    ]);
    for (const input of inputs) this.release(input);
    if (this.isDue) return;
    this.isDue = true;
    // After all answers of this step, without a turn of the event loop in between.
    queueMicrotask(this.flush);
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

  /** Cancels a request, unless it was answered meanwhile. */
  private cancel(id: number): void {
    const request = this.waiting[id] ?? null;
    if (request !== null) request.keeper?.cancel(request);
  }

  private async call({ id, method, name, config }: ServiceCall): Promise<void> {
    try {
      const statistics = (await this.service[method](name, config)) ?? [];
      this.post({ kind: 'called', id, statistics, error: null });
    } catch (error) {
      const kind = error instanceof ServiceError ? error.kind : null;
      const { message } = error as Error;
      this.post({ kind: 'called', id, statistics: [], error: { kind, message } });
    }
  }

  private send(): void {
    this.isDue = false;
    const { items, transfer } = this.outbox.take();
    this.post({ kind: 'answers', items }, transfer);
    if (this.spent.length === 0) return;
    freeLarge(this.spent);
    this.spent = [];
  }
}

/** Contents of the message of one turn of the event loop to another thread. */
class Outbox<Item> {
  items: Item[] = [];
  private readonly buffers = new Set<ArrayBuffer>();

  /** The buffer of a large tensor moves with the message, so no other message may have a part of it. */
  pack(tensor: Uint8Array): PackedTensor {
    const { buffer, byteOffset, length } = tensor;
    if (length <= LARGE_BYTES) return Buffer.from(buffer, byteOffset, length).toString('latin1');
    this.buffers.add(buffer as ArrayBuffer);
    return tensor as Uint8Array<ArrayBuffer>;
  }

  /** Takes everything to send, with the buffers to transfer, and empties it. */
  take(): { readonly items: readonly Item[]; readonly transfer: readonly ArrayBuffer[] } {
    const { items } = this;
    const transfer = [...this.buffers];
    this.items = [];
    this.buffers.clear();
    return { items, transfer };
  }
}

function unpacked(tensor: PackedTensor): Uint8Array<ArrayBuffer> {
  return typeof tensor === 'string' ? Buffer.from(tensor, 'latin1') : tensor;
}
