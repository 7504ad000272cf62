import type { Clock } from '../../../base/clock/clock.js';
import type { ErrorCode } from '../../../base/errors.js';
import type { Outcome } from '../../../core/request.js';
import { freeLarge, LARGE_BYTES, OpenParcel, Parcel, type ParcelContents } from '../../parcel.js';
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
  /** It says which clients it cuts off. */
  readonly namesClients: boolean;
}

/** A parcel with what one turn of the event loop has for another thread, and extras that few of its items have. Plain data. */
interface Packed<Kind, Extra> extends ParcelContents {
  readonly kind: Kind;
  readonly extras: readonly Extra[];
}

/** Requests of one turn of a frontend thread; see `RequestPacker`. `nth`: position in the message. */
type PackedRequests = Packed<
  'requests',
  { readonly nth: number } & Required<Pick<InferenceRequest, 'shapes' | 'trace'>>
>;

/** Answers that the service gave in one turn; see `AnswerPacker`. */
type PackedAnswers = Packed<
  'answers',
  { readonly nth: number } & Pick<
    InferenceAnswer,
    'shapes' | 'error' | 'isOfInputs' | 'isOverLimit' | 'waitedFor'
  >
>;

/** Calls of a frontend to the service other than inference. */
type ServiceMethod = 'load' | 'unload' | 'takeOver' | 'look' | 'statistics';

/** From a frontend to the service. */
type ToService =
  | PackedRequests
  /** The client of a request has gone. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** `name`: of a model; '' for methods without one. */
  | { readonly kind: 'call'; readonly id: number; readonly method: ServiceMethod; readonly name: string };

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
  | PackedAnswers
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

/** The service as frontends in another thread see it. What they ask in one turn of the event loop is one message. */
export class RemoteService implements InferenceService, RequestKeeper {
  /**
   * By slot; null: it has its answer, and the slot is used again. A `Map` would leave its old tables behind, each of which
   * refers to the next one: once one of them is old, the collector takes all that come after it for alive.
   */
  private readonly requests: (InferenceRequest | null)[] = [];
  private readonly freeSlots: number[] = [];
  private readonly calls = new Map<number, Waiting>();
  private readonly packer = new RequestPacker();
  private lastCall = 0;
  private isDue = false;
  private readonly flush = () => this.send();
  private readonly answer = (id: number, answer: Parameters<InferenceRequest['done']>[0]) => {
    const request = this.requests[id] ?? null;
    if (request === null) return;
    this.requests[id] = null;
    this.freeSlots.push(id);
    request.done(answer);
  };

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
      if (message.kind === 'answers') unpackAnswers(message, this.answer);
      else if (message.kind === 'state') this.lastState = message.state;
      else if (message.kind === 'called') this.called(message);
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
    this.packer.add(slot, request, request.arrivalNs ?? this.nowNs());
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

  async load(name: string): Promise<void> {
    await this.call('load', name);
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
    const { message, transfer } = this.packer.take('requests');
    this.post(message, transfer);
  }

  private post(message: ToService, transfer: readonly ArrayBuffer[] = []): void {
    this.port.postMessage(message, transfer);
  }

  private call(method: ServiceMethod, name = ''): Promise<readonly ModelStatistics[]> {
    const id = ++this.lastCall;
    this.post({ kind: 'call', id, method, name });
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

/** Requests of one frontend thread in the thread of the service. Answers that come together go back together. */
export class ThreadRequests {
  /** True once its thread has ended, or hangs: answers are dropped. */
  isOver = false;
  private readonly packer = new AnswerPacker();
  private isDue = false;
  private spent: Uint8Array[] = [];
  private readonly flush = () => this.send();
  /** By id; null: it has its answer. */
  private readonly waiting: (InferenceRequest | null)[] = [];
  private readonly offer = (id: number, request: InferenceRequest) => {
    this.waiting[id] = request;
    this.service.infer(request);
  };

  /** `inputs`: what the request came with, which is not needed any more. */
  private readonly answer = (id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]) => {
    this.waiting[id] = null;
    this.packer.add(id, answer);
    for (let i = 0; i < inputs.length; i++) if (inputs[i].length > LARGE_BYTES) this.spent.push(inputs[i]);
    if (this.isDue) return;
    this.isDue = true;
    // After all answers of this step, without a turn of the event loop in between.
    queueMicrotask(this.flush);
  };

  constructor(
    private readonly service: WatchedService,
    private readonly thread: Pick<ThreadHandle, 'on' | 'postMessage' | 'terminate'>,
    /** Takes messages that are about the frontend itself. */
    others: (message: ToHost) => void,
  ) {
    thread.on('message', (message: ToService | ToHost) => {
      if (message.kind === 'requests') unpackRequests(message, this.offer, this.answer);
      else if (message.kind === 'cancel') this.cancel(message.id);
      else if (message.kind === 'call') void this.call(message.id, message.method, message.name);
      else others(message);
    });
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

  /** It may have been answered while the word of it was on its way. */
  private cancel(id: number): void {
    const request = this.waiting[id] ?? null;
    if (request !== null) request.keeper?.cancel(request);
  }

  private async call(id: number, method: ServiceMethod, name: string): Promise<void> {
    try {
      const statistics = (await this.service[method](name)) ?? [];
      this.post({ kind: 'called', id, statistics, error: null });
    } catch (error) {
      const kind = error instanceof ServiceError ? error.kind : null;
      const { message } = error as Error;
      this.post({ kind: 'called', id, statistics: [], error: { kind, message } });
    }
  }

  private send(): void {
    this.isDue = false;
    const { message, transfer } = this.packer.take('answers');
    this.post(message, transfer);
    if (this.spent.length === 0) return;
    freeLarge(this.spent);
    this.spent = [];
  }
}

type ExtraOf<P> = P extends { readonly extras: readonly (infer Extra)[] } ? Extra : never;

/** Packs everything that one turn of the event loop has for another thread into one message. */
class Packer<Extra> {
  protected readonly parcel = new Parcel();
  protected extras: Extra[] = [];
  protected count = 0;

  /** Returns the message, and starts the next. */
  take<Kind extends string>(
    kind: Kind,
  ): { readonly message: Packed<Kind, Extra>; readonly transfer: ArrayBuffer[] } {
    const { contents, transfer } = this.parcel.seal();
    const { extras } = this;
    this.extras = [];
    this.count = 0;
    // A message that is nested takes longer to cross.
    return { message: { kind, bytes: contents.bytes, large: contents.large, extras }, transfer };
  }
}

/** Counterpart of `takeTensors`. A tensor that is part of a larger buffer is copied. */
function addTensors(parcel: Parcel, tensors: readonly Uint8Array[]): void {
  parcel.addNumber(tensors.length);
  for (let i = 0; i < tensors.length; i++) {
    const isWhole = tensors[i].byteLength === tensors[i].buffer.byteLength;
    parcel.add(tensors[i], isWhole);
  }
}

/** Reads the number of tensors, then the tensors. */
function takeTensors(parcel: OpenParcel): Uint8Array<ArrayBuffer>[] {
  const tensors = new Array<Uint8Array<ArrayBuffer>>(parcel.takeNumber());
  for (let i = 0; i < tensors.length; i++) tensors[i] = parcel.take();
  return tensors;
}

/** Packs the requests of one turn into one message. */
class RequestPacker extends Packer<ExtraOf<PackedRequests>> {
  add(id: number, request: InferenceRequest, arrivalNs: number): void {
    const { parcel } = this;
    const { model, user, sloNs, inputs, shapes, trace = null, mayMove = false } = request;
    const { requestClass = 0, tenant = 0, length = 0 } = request;
    parcel.addNumber(id);
    parcel.addNumber(model);
    parcel.addNumber(user);
    parcel.addNumber(requestClass);
    parcel.addNumber(tenant);
    parcel.addNumber(length);
    parcel.addNumber(arrivalNs);
    parcel.addNumber(sloNs);
    parcel.addNumber(inputs.length);
    for (let i = 0; i < inputs.length; i++) parcel.add(inputs[i], mayMove);
    if (shapes !== undefined || trace !== null) this.extras.push({ nth: this.count, shapes, trace });
    this.count++;
  }
}

/**
 * Calls `use` with each request of a message, and `answered` with its answer and its inputs. Literals here and below: a
 * spread takes microseconds.
 */
function unpackRequests(
  packed: PackedRequests,
  use: (id: number, request: InferenceRequest) => void,
  answered: (id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]) => void,
): void {
  const { extras } = packed;
  const parcel = new OpenParcel(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const id = parcel.takeNumber();
    const model = parcel.takeNumber();
    const user = parcel.takeNumber();
    const requestClass = parcel.takeNumber();
    const tenant = parcel.takeNumber();
    const length = parcel.takeNumber();
    const arrivalNs = parcel.takeNumber();
    const sloNs = parcel.takeNumber();
    const inputs = takeTensors(parcel);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const trace = rare === null ? null : rare.trace;
    const request: InferenceRequest = {
      model,
      user,
      requestClass,
      tenant,
      length,
      arrivalNs,
      sloNs,
      trace,
      inputs,
      shapes: rare?.shapes,
      done: (answer) => answered(id, answer, request.inputs),
    };
    use(id, request);
  }
}

/** Packs the answers of one turn into one message. */
class AnswerPacker extends Packer<ExtraOf<PackedAnswers>> {
  /** Large outputs in buffers of their own go over; what is part of a larger buffer is copied. */
  add(id: number, answer: InferenceAnswer): void {
    const { parcel } = this;
    const { outcome, outputs, shapes, predictedNs, passedNs = 0, batchSize, error } = answer;
    const { isOfInputs, isOverLimit, waitedFor = '' } = answer;
    parcel.addNumber(id);
    parcel.addNumber(outcome);
    parcel.addNumber(predictedNs);
    parcel.addNumber(passedNs);
    parcel.addNumber(batchSize);
    addTensors(parcel, outputs);
    if (shapes !== undefined || error !== '' || waitedFor !== '')
      this.extras.push({ nth: this.count, shapes, error, isOfInputs, isOverLimit, waitedFor });
    this.count++;
  }
}

/** Calls `use` with each answer of a message. */
export function unpackAnswers(
  packed: PackedAnswers,
  use: (id: number, answer: InferenceAnswer) => void,
): void {
  const { extras } = packed;
  const parcel = new OpenParcel(packed);
  let extra = 0;
  for (let nth = 0; !parcel.isEmpty; nth++) {
    const id = parcel.takeNumber();
    const outcome = parcel.takeNumber() as Outcome;
    const predictedNs = parcel.takeNumber();
    const passedNs = parcel.takeNumber();
    const batchSize = parcel.takeNumber();
    const outputs = takeTensors(parcel);
    const rare = extras[extra]?.nth === nth ? extras[extra++] : null;
    const error = rare === null ? '' : rare.error;
    const { shapes, isOfInputs, isOverLimit, waitedFor } = rare ?? NOTHING_RARE;
    use(id, {
      outcome,
      predictedNs,
      passedNs,
      batchSize,
      outputs,
      shapes,
      error,
      isOfInputs,
      isOverLimit,
      waitedFor,
    });
  }
}

const NOTHING_RARE = { shapes: undefined, isOfInputs: undefined, isOverLimit: undefined, waitedFor: '' };
