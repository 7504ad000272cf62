import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ModelEntry } from '../service.js';
import type { RequestQuota } from './call.js';
import type { HttpSite } from './http-site.js';
import type { Refusal } from './refusal.js';

/** An HTTP request as those see it who answer it. */
export interface OpenRequest {
  readonly site: HttpSite;
  readonly response: OpenResponse;
  readonly socket: Socket;
  readonly headers: IncomingHttpHeaders;
  /** Without what follows `?`. */
  readonly path: string;
  /** All of it is there. */
  readonly complete: boolean;
  /** Bytes of its body, as announced; −1: that is not known. */
  readonly announcedBytes: number;
  /** When it began to come, on the service's clock. */
  readonly arrivalNs: number;
  /** The model that the path of an infer request names. */
  readonly entry: ModelEntry | null;
  /** Whose turn it takes in queues. */
  readonly clientKey: string;
  readonly quota: RequestQuota;
  /** The service has it, and counts what becomes of it. */
  isAsked: boolean;
  /** Makes what it holds of the memory budget `bytes`; null, or why it cannot. Lasts until `release`. */
  hold(bytes: number): Refusal | null;
  /** Gives all memory back. */
  release(): void;
}

/** Whether its client has gone: nothing can be answered any more. */
export function hasLeft({ response, socket }: OpenRequest): boolean {
  // An answer that waits for others before it has no socket yet, and never closes if its connection goes.
  return response.destroyed || socket.destroyed;
}

/** What it is answered with: as of Node. */
export interface OpenResponse {
  readonly socket: Socket | null;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  shouldKeepAlive: boolean;
  /** Names and values in turn. */
  writeHead(status: number, headers: string[]): unknown;
  cork(): void;
  write(piece: string | Uint8Array): unknown;
  end(piece?: string | Uint8Array, encoding?: BufferEncoding): unknown;
  once(event: 'close', listener: () => void): unknown;
}
