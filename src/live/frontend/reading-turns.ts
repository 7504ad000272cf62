import { KIB } from '../../base/units.js';
import { FairQueue } from './codec/fair-queue.js';

/** A body that comes. */
interface Coming {
  /** Whose turn it takes. */
  readonly clientKey: string;
  readonly destroyed: boolean;
  /** So far. */
  readBytes: number;
  pause(): unknown;
  resume(): unknown;
}

/** What a body may have and still be read whenever it comes. */
const FREE_BYTES = 256 * KIB;
/** What is read of larger ones in one turn of the event loop, about. */
const TURN_BYTES = 256 * KIB;
/** What one body gets of that: what the system gives at a time. */
const PIECE_BYTES = 64 * KIB;

/**
 * Large bodies are read by turns: each turn of the event loop takes a little of some of them, so that small requests never
 * wait for more than that. Otherwise forty clients that send at full speed have it read megabytes in one turn.
 */
export class ReadingTurns {
  private readonly waiting = new FairQueue<Coming>();
  private bytes = 0;
  private isDue = false;
  private readonly next = () => this.begin();

  /** Call it with each piece of a body. */
  read(body: Coming, bytes: number): void {
    body.readBytes += bytes;
    if (body.readBytes <= FREE_BYTES) return;
    this.bytes += bytes;
    this.wake();
    if (this.bytes < TURN_BYTES && this.waiting.isEmpty) return;
    body.pause();
    this.waiting.push(body.clientKey, body);
  }

  private wake(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(this.next);
  }

  private begin(): void {
    this.isDue = false;
    this.bytes = 0;
    for (let left = TURN_BYTES; left > 0; ) {
      const body = this.waiting.shift();
      if (body === undefined) return;
      if (body.destroyed) continue;
      body.resume();
      left -= PIECE_BYTES;
    }
    this.wake();
  }
}
