import type { Outcome } from '../core/request.js';
import type { RetryFigures } from '../record/results.js';
import type { Payloads } from './payloads.js';
import type { Reply } from './reply.js';

/**
 * Called once with how a request ended, never from within `send`. OUTCOME_OK means that it was executed: whether in time
 * is decided by the sender's clock. `reply`: how the server said so; absent within a process.
 */
export type Done = (outcome: Outcome, reply?: Reply) => void;

/** A request to be sent. Models, classes and tenants are those of the run, by their index. */
export interface LoadRequest {
  readonly model: number;
  readonly sloNs: number;
  readonly user?: number;
  /** When it should be sent, on the player's clock. */
  readonly arrivalNs?: number;
  readonly requestClass?: number;
  readonly tenant?: number;
  /** Of its input; absent or 0: the longest. */
  readonly length?: number;
}

/** How requests name their class and their tenant to a server, both by index among those of the run. */
export interface Senders {
  /** The protocol's `priority` of each class; null: none is sent. Empty: there are no classes. */
  readonly priorities: readonly (number | null)[];
  /** The header, or key of metadata, that names a tenant; null: there are no tenants. */
  readonly header: string | null;
  /** The first is that of requests that name none, and is named all the same. */
  readonly tenants: readonly string[];
}

/** What a load generator sends requests to. Models are those it was opened with, by their index. */
export interface LoadTarget {
  /** For people: the address. */
  readonly name: string;
  /** What requests assume that the server does not say, lines for people; absent: nothing. */
  readonly assumed?: readonly string[];
  /** Requests that had to wait for a free connection before they were sent. */
  readonly waited: number;
  /** What was sent again; absent: nothing is. */
  readonly retries?: RetryFigures;
  send(request: LoadRequest, done: Done): void;
  /** Asks whether the server is alive: a call that takes no work, over a connection like those of requests; absent: cannot. */
  ping?(done: Done): void;
  /** Forgets requests that were not sent yet, and says how many; absent: none waits. */
  dropUnsent?(): number;
  /** Closes every connection; what is outstanding is not answered any more. */
  close(): void;
}

export interface TargetOptions {
  /** Models of the run; each must be one of the server's. */
  readonly models: readonly string[];
  /** Rows of the inputs of each model, by its index; absent: one. */
  readonly rows?: readonly number[];
  /** Most bytes of an answer that are kept, for `Reply.outputs`; absent: none. */
  readonly keptBytes?: number;
  /** Real inputs, cycled for each model; absent: random tensors. */
  readonly payloads?: Payloads;
  /** How requests name their class and tenant; absent: they name none. */
  readonly senders?: Senders;
  /** Of the random tensors. */
  readonly seed: number | string;
  /** Most connections that are open at the same time; absent: as many as suit the protocol. */
  readonly connections?: number;
  /** Sent as `authorization: Bearer`; absent: none. */
  readonly token?: string;
  /** Certificates (PEM) of the authority that a TLS server is checked against; absent: those of Node. */
  readonly ca?: Buffer;
  /** Sends again, within its SLO, what had no answer or is to come back. */
  readonly retry?: boolean;
  /** Takes any certificate of a TLS server. */
  readonly insecure?: boolean;
}

const PAUSE_MS = 100;

/** Tells later that a request had no answer: closed-loop clients must not make a server that is gone a busy loop. */
export function afterPause(tell: () => void): void {
  setTimeout(tell, PAUSE_MS);
}
