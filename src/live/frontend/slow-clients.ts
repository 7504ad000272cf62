import { KIB, NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { Refusal } from './refusal.js';
import { Slots } from './slots.js';

/** How fast a client must send and read once the time that each has is over. */
const LEAST_RATE = 256 * KIB;

/** Hears of a client, by its address, that is too slow. */
export type CutOff = (client: string, why: string) => void;

interface SlowClientsOptions {
  /** For what a client sends. */
  readonly receiveTimeoutMs: number;
  /** For the answer that it reads. */
  readonly sendTimeoutMs: number;
  readonly nowNs: () => number;
}

/** Cuts off clients that send their bodies, or read their answers, too slowly: both hold memory. */
export class SlowClients {
  /** Requests whose body is not all there. */
  readonly receiving = new Slots<Receiving>();
  private readonly sending = new Set<Started>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly options: SlowClientsOptions,
    private readonly cutOff: CutOff = () => {},
  ) {
    const shortestMs = Math.min(options.receiveTimeoutMs, options.sendTimeoutMs);
    this.timer = setInterval(() => this.look(), Math.min(1000, Math.ceil(shortestMs / 10)));
    this.timer.unref();
  }

  /** An answer of so many bytes was handed to the connection, which could not send it at once. */
  send(answer: Sending, bytes: number): void {
    const started = { answer, bytes, sinceNs: this.options.nowNs() };
    this.sending.add(started);
    // Comes after `finish`, and without it where the client has gone.
    answer.response.once('close', () => this.end(started));
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { receiveTimeoutMs, sendTimeoutMs, nowNs } = this.options;
    const now = nowNs();
    for (const request of this.receiving) {
      if (!isLate(now - request.arrivalNs, receiveTimeoutMs, request.receivedBytes)) continue;
      const refusal = tooSlow(request.receivedBytes, receiveTimeoutMs);
      this.cutOff(addressOf(request), refusal.message);
      request.turnAway(refusal);
    }
    for (const started of this.sending) {
      const { answer, bytes, sinceNs } = started;
      // An answer that waited for others before it does not hear that its connection has gone.
      if (answer.socket.destroyed) this.end(started);
      else if (isLate(now - sinceNs, sendTimeoutMs, bytes)) {
        this.cutOff(addressOf(answer), `the answer of ${bytes} bytes is read too slowly`);
        answer.socket.destroy();
      }
    }
  }

  private end(started: Started): void {
    if (this.sending.delete(started)) started.answer.release();
  }
}

/** What a connection knows of its other end. */
interface Peer {
  readonly remoteAddress?: string | undefined;
}

/** A request whose body comes. */
interface Receiving {
  readonly socket: Peer;
  readonly arrivalNs: number;
  readonly receivedBytes: number;
  turnAway(refusal: Refusal): void;
}

/** A request whose answer goes. */
interface Sending {
  readonly socket: Peer & { readonly destroyed: boolean; destroy(): void };
  readonly response: { once(event: 'close', listener: () => void): unknown };
  /** Gives its memory back. */
  release(): void;
}

interface Started {
  readonly answer: Sending;
  readonly bytes: number;
  readonly sinceNs: number;
}

function addressOf({ socket }: { readonly socket: Peer }): string {
  return socket.remoteAddress ?? 'unknown';
}

function isLate(passedNs: number, timeoutMs: number, bytes: number): boolean {
  return passedNs > timeoutMs * NS_PER_MS + (bytes / LEAST_RATE) * NS_PER_S;
}

function tooSlow(bytes: number, timeoutMs: number): Refusal {
  const limit = `a body may take ${timeoutMs / 1000} s, and 1 s more for each ${LEAST_RATE / KIB} KiB that have come`;
  return new Refusal('tooSlow', `the body comes too slowly: ${bytes} bytes so far; ${limit}`);
}
