import type { RequestQuota } from '../call.js';
import type { ReadingTurns } from '../reading-turns.js';

/** What a connection wants to know of a call that is over. */
export interface EndedCall {
  readonly place: number;
  readonly turn: number;
  readonly isAsked: boolean;
}

/** What a call takes from its connection. */
export interface RpcOwner {
  readonly clientKey: string;
  /** Counts the requests of its client. */
  readonly quota: RequestQuota;
  /** Whose turn it is to send large messages. */
  readonly turns: ReadingTurns;
  /** A call or message brought no inference, by the client's choice or fault. Returns whether that is one too many. */
  idle(): boolean;
  /** Another message of a stream has come. Returns whether that is one too many. */
  another(): boolean;
  /** One brought an inference. */
  served(): void;
  /** A piece of a message has come. */
  came(bytes: number): void;
  /** Bytes of messages have come or gone. */
  moved(bytes: number): void;
  /** A message comes in pieces that are too small. */
  crumbled(): void;
  /** It is too slow, and cut off. */
  cutOff(why: string): void;
  /** Takes memory for a message of a client, or throws a refusal. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** The call is over; when its client gave it up, after it had begun; null: it did not. */
  done(call: EndedCall, gaveUpAfterMs: number | null): void;
}
