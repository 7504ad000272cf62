import { usableMemoryBytes } from '../../base/limits/usable.js';
import { GIB, KIB, MIB } from '../../base/units.js';

/** Limits that a server may set. What is above one is refused before work is done for it. */
export interface Limits {
  /** Largest batch of one call, which is split into as many requests. */
  readonly maxBatch: number;
  /** Largest body or message, also when decompressed: 413, RESOURCE_EXHAUSTED. */
  readonly maxBodyBytes: number;
  /** Largest JSON in a body: 413. */
  readonly maxJsonBytes: number;
  /** Most memory of bodies and answers under way, of all frontends of the process together: 503. */
  readonly maxInflightBytes: number;
  /** Most connections, of all frontends of the process together: 503. Half of them may come from one address. */
  readonly maxConnections: number;
  /** Most requests from one address that the service has not answered: 503; null: no limit. */
  readonly maxClientRequests: number | null;
  /** Time for the headers of a request: 408. */
  readonly headersTimeoutMs: number;
  /** Time for a whole request, with its body: 408. */
  readonly requestTimeoutMs: number;
  /** Time without progress of a client that reads an answer: its connection is closed. */
  readonly sendTimeoutMs: number;
  /** Time between two requests of a connection, which is closed then. */
  readonly idleTimeoutMs: number;
  /** Time for a TLS handshake: the connection is closed. */
  readonly handshakeTimeoutMs: number;
}

/** Fewer than most systems let a process open. */
export const DEFAULT_CONNECTIONS = 10_000;
/** More than honest clients of one address have under way: the requests of a second or so at a high rate. */
export const DEFAULT_CLIENT_REQUESTS = 4096;

const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
const SEND_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 75_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;

export function defaultLimits(): Limits {
  return {
    maxBatch: 256,
    maxBodyBytes: 64 * MIB,
    maxJsonBytes: 4 * MIB,
    maxInflightBytes: defaultInflightBytes(),
    maxConnections: DEFAULT_CONNECTIONS,
    maxClientRequests: DEFAULT_CLIENT_REQUESTS,
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    sendTimeoutMs: SEND_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
  };
}

/** 1 GiB, or a quarter of the memory that the process may use where that is less. */
export function defaultInflightBytes(): number {
  return Math.max(64 * MIB, Math.min(GIB, Math.floor(usableMemoryBytes() / 4)));
}

/** Largest answer: 413. */
export function mostAnswerBytes({ maxBodyBytes }: Pick<Limits, 'maxBodyBytes'>): number {
  return Math.max(64 * MIB, maxBodyBytes);
}

/** Largest headers: 431. */
export const MOST_HEADER_BYTES = 16 * KIB;
/** Largest body or message of a request without tensors, and the most of others besides the elements: 413, RESOURCE_EXHAUSTED. */
export const MOST_CONTROL_BYTES = 64 * KIB;
/** Inputs and outputs that a message names: RESOURCE_EXHAUSTED. */
export const MOST_TENSORS = 4096;
/** Requests of one HTTP connection under way, which is closed when it sends more. */
export const MOST_PIPELINED = 16;
/** Streams that watch the server's health, for each thread of the frontend: RESOURCE_EXHAUSTED. Half may be of one address. */
export const MOST_WATCHES = 1024;
/** Chunks of a body: with more, they must have 32 bytes on average, or get 400. */
export const MOST_TINY_CHUNKS = 1024;
export const LEAST_CHUNK_BYTES = 32;
/** Time for which the rest of a refused body is read and dropped, so that its client sees the answer. */
export const MOST_LINGER_MS = 5000;
/** Time for decoding or encoding one body: 413. */
export const CODEC_TIMEOUT_MS = 15_000;
/** Bodies that wait to be decoded or encoded, for each thread of the frontend: 503. */
export const MOST_CODEC_QUEUE = 256;
/** Elements of one output that are sorted for a classification: 413. */
export const MOST_CLASSIFIED = 2 ** 18;
/** Connections beyond the limit that hear why at a time; further ones are closed without a word. */
export const MOST_TURNED_AWAY = 100;
/** Time that a graceful close waits for requests under way. */
export const GRACE_MS = 10_000;
