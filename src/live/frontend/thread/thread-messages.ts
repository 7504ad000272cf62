import type { ErrorCode } from '../../../base/errors.js';
import type { Shape } from '../../model.js';
import type { ParcelContents } from '../../parcel.js';
import type { ModelStatistics, ServiceError, ServiceState } from '../../service.js';
import type { HttpFrontendOptions } from '../http-frontend.js';

export type Transport = 'http' | 'grpc';

/** What a frontend thread is started with. */
export interface FrontendThreadData {
  readonly transport: Transport;
  readonly options: HttpFrontendOptions;
  /** `monotonicNs` of the instant that is 0 on the service's clock. */
  readonly originNs: number;
  readonly state: ServiceState;
}

/** Requests of one turn of a thread's event loop. Numbers and tensors are in order; see `RequestPacker`. */
export interface PackedRequests {
  readonly numbers: readonly number[];
  readonly tensors: ParcelContents;
  /** What few requests have. */
  readonly extras: readonly {
    /** Of the request among those of the message. */
    readonly nth: number;
    readonly shapes: readonly Shape[] | undefined;
    readonly trace: string | null;
  }[];
}

/** Answers that the service gave in one turn; see `AnswerPacker`. */
export interface PackedAnswers {
  readonly numbers: readonly number[];
  readonly tensors: ParcelContents;
  readonly extras: readonly {
    /** Of the answer among those of the message. */
    readonly nth: number;
    readonly shapes: readonly Shape[] | undefined;
    readonly error: string;
  }[];
}

/** What a frontend asks of the service besides inference. */
export type ServiceCall =
  | { readonly method: 'load' | 'unload'; readonly name: string }
  | { readonly method: 'statistics' };

/** From a frontend thread to its host. */
export type FromFrontend =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode | null; readonly message: string }
  | { readonly kind: 'requests'; readonly requests: PackedRequests }
  | { readonly kind: 'call'; readonly id: number; readonly call: ServiceCall }
  /** No connection is left. */
  | { readonly kind: 'closed' };

/** From the host to a frontend thread. */
export type ToFrontend =
  | { readonly kind: 'answers'; readonly answers: PackedAnswers }
  | { readonly kind: 'state'; readonly state: ServiceState }
  | {
      readonly kind: 'called';
      readonly id: number;
      readonly statistics: readonly ModelStatistics[];
      readonly error: { readonly kind: ServiceError['kind'] | null; readonly message: string } | null;
    }
  | { readonly kind: 'close'; readonly graceful: boolean };
