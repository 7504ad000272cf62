import type { ErrorCode } from '../../../base/errors.js';
import type { Shape } from '../../model.js';
import type { Packed } from '../../packer.js';
import type { PulseBuffer } from '../../pulse.js';
import type { ModelStatistics, ServiceError, ServiceState } from '../../service.js';
import type { ServerTls } from '../../wire/credentials.js';
import type { FrontendOptions } from '../frontend.js';
import type { TurnedAwayCount } from '../turned-away.js';

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

/** Requests of one turn of a thread's event loop; see `RequestPacker`. */
export type PackedRequests = Packed<{
  /** Position of the request in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly trace: string | null;
}>;

/** Answers that the service gave in one turn; see `AnswerPacker`. */
export type PackedAnswers = Packed<{
  /** Position of the answer in the message. */
  readonly nth: number;
  readonly shapes: readonly Shape[] | undefined;
  readonly error: string;
  readonly isOfInputs: boolean | undefined;
  readonly isOverLimit: boolean | undefined;
  readonly waitedFor: string;
}>;

/** Calls of a frontend to the service other than inference. */
export type ServiceCall =
  | { readonly method: 'load' | 'unload'; readonly name: string }
  | { readonly method: 'look' | 'statistics' };

/** From a frontend thread to its host. A text, by far the most frequent, is requests. */
export type FromFrontend =
  | string
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode | null; readonly message: string }
  | { readonly kind: 'requests'; readonly requests: Exclude<PackedRequests, string> }
  /** The client of a request has gone. */
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'call'; readonly id: number; readonly call: ServiceCall }
  /** A client was cut off. */
  | { readonly kind: 'cutOff'; readonly client: string; readonly why: string }
  | { readonly kind: 'turnedAway'; readonly counts: readonly TurnedAwayCount[] }
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
