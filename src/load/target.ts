import { MIB } from '../base/units.js';
import type { Outcome } from '../core/request.js';
import type { RetryFigures } from '../record/results.js';
import type { Payloads } from './payloads.js';
import type { Reply } from './reply.js';

/**
 * Called once with the outcome of a request, never from within `send`. OUTCOME_OK means that it was executed; the
 * sender's clock decides if it was in time. `reply`: the server's answer; absent within a process.
 */
export type Done = (outcome: Outcome, reply?: Reply) => void;

/** A request to send. Models, classes and tenants are those of the run, by index. */
export interface LoadRequest {
  readonly model: number;
  readonly sloNs: number;
  readonly user?: number;
  /** Intended send time, on the player's clock. */
  readonly arrivalNs?: number;
  readonly requestClass?: number;
  readonly tenant?: number;
  /** Length of its input; absent or 0: the longest. */
  readonly length?: number;
}

/** Names of classes and tenants in requests to a server, by index among those of the run. */
interface Senders {
  /** The protocol's `priority` of each class; null: not sent. Empty if there are no classes. */
  readonly priorities: readonly (number | null)[];
  /** Header, or metadata key, that names a tenant; null if there are no tenants. */
  readonly header: string | null;
  /** The first is the default; requests name it, too. */
  readonly tenants: readonly string[];
}

/** Target of a load generator. Models are those it was opened with, by index. */
export interface LoadTarget {
  /** Its address, for people. */
  readonly name: string;
  /** Number of requests that waited for a free connection. */
  readonly waited: number;
  /** Retries; absent if none are made. */
  readonly retries?: RetryFigures;
  send(request: LoadRequest, done: Done): void;
  /** Checks that the server is alive, over a connection like those of requests; absent if unsupported. */
  ping?(done: Done): void;
  /** Drops requests not sent yet, and returns their number; absent if none ever wait. */
  dropUnsent?(): number;
  /** Closes every connection; outstanding requests are not answered any more. */
  close(): void;
}

export interface TargetOptions {
  /** Models of the run; each must be one of the server's. */
  readonly models: readonly string[];
  /** Rows of the inputs of each model, by index; absent: one. */
  readonly rows?: readonly number[];
  /** Keeps successful answers, for `Reply.outputs`. */
  readonly keepsAnswers?: boolean;
  /** Real inputs, cycled for each model; absent: random tensors. */
  readonly payloads?: Payloads;
  /** Names of classes and tenants; absent if requests name none. */
  readonly senders?: Senders;
  /** Seed of the random tensors. */
  readonly seed: number | string;
  /** Most connections open at the same time; absent: depends on the protocol. */
  readonly connections?: number;
  /** Sent as `authorization: Bearer`; absent: none. */
  readonly token?: string;
  /** Certificates (PEM) of the authority for TLS servers; absent: those of Node. */
  readonly ca?: Buffer;
  /** Retries requests, within their SLO, that got no answer or one that asks for a retry. */
  readonly retry?: boolean;
  /** Accepts any certificate of a TLS server. */
  readonly insecure?: boolean;
}

/** Longer answers are errors. JSON takes several times the bytes of the outputs. */
export const MOST_ANSWER_BYTES = 256 * MIB;

const PAUSE_MS = 100;

/** Delays a reply without an answer, so that closed-loop clients do not spin when a server is gone. */
export function afterPause(tell: () => void): void {
  setTimeout(tell, PAUSE_MS);
}
