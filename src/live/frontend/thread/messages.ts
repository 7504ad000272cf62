import type { ErrorCode } from '../../../base/errors.js';
import type { Outcome } from '../../../core/request.js';
import type { Shape } from '../../model.js';
import { addTensors, extrasOf, openPacked, type Packed, Packer, takeTensors } from '../../packer.js';
import type { PulseBuffer } from '../../pulse.js';
import type {
  InferenceAnswer,
  InferenceRequest,
  ModelStatistics,
  ServiceError,
  ServiceState,
} from '../../service.js';
import type { ServerTls } from '../../wire/credentials.js';
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

interface RareOfRequest {
  /** Position of the request in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly trace: string | null;
}

/** Requests of one turn of a thread's event loop; see `RequestPacker`. */
export type PackedRequests = Packed<RareOfRequest>;

interface RareOfAnswer {
  /** Position of the answer in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly error: string;
  readonly isOfInputs: boolean | undefined;
  readonly isOverLimit: boolean | undefined;
  readonly waitedFor: string;
}

/** Answers that the service gave in one turn; see `AnswerPacker`. */
type PackedAnswers = Packed<RareOfAnswer>;

/** Calls of a frontend to the service other than inference. */
export type ServiceMethod = 'load' | 'unload' | 'look' | 'statistics';

/** From a frontend thread to its host. A text, by far the most frequent, is requests. */
export type FromFrontend =
  | string
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode | null; readonly message: string }
  | { readonly kind: 'requests'; readonly requests: Exclude<PackedRequests, string> }
  /** The client of a request has gone. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** `name`: of a model; '' for methods without one. */
  | { readonly kind: 'call'; readonly id: number; readonly method: ServiceMethod; readonly name: string }
  /** A client was cut off. */
  | { readonly kind: 'cutOff'; readonly client: string; readonly why: string }
  /** Clients whose connections were rejected; not all are named. */
  | { readonly kind: 'turnedAway'; readonly clients: readonly string[] }
  /** No connection is left. */
  | { readonly kind: 'closed' };

/** From the host to a frontend thread. A text is answers. */
export type ToFrontend =
  | string
  | { readonly kind: 'answers'; readonly answers: Exclude<PackedAnswers, string> }
  | { readonly kind: 'state'; readonly state: ServiceState }
  | {
      readonly kind: 'called';
      readonly id: number;
      readonly statistics: readonly ModelStatistics[];
      readonly error: { readonly kind: ServiceError['kind'] | null; readonly message: string } | null;
    }
  | { readonly kind: 'renew'; readonly tls: ServerTls }
  | { readonly kind: 'close'; readonly graceful: boolean };

/** Packs the requests of one turn into one message. */
export class RequestPacker extends Packer<RareOfRequest> {
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
export function unpackRequests(
  packed: PackedRequests,
  use: (id: number, request: InferenceRequest) => void,
  answered: (id: number, answer: InferenceAnswer, inputs: readonly Uint8Array[]) => void,
): void {
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
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
export class AnswerPacker extends Packer<RareOfAnswer> {
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
  const extras = extrasOf(packed);
  const parcel = openPacked(packed);
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
