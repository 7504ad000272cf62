import { IncomingMessage, type ServerResponse } from 'node:http';
import type { ModelEntry } from '../service.js';
import { Refusal } from './refusal.js';

/** Takes the body of a request, once it is all there; or the refusal of one that is too large. */
export interface BodyReader {
  read(request: FrontendRequest, body: Buffer): void;
  refuse(request: FrontendRequest, refusal: Refusal): void;
}

export type FrontendResponse = ServerResponse<FrontendRequest>;

/**
 * A request that collects its body without a closure or promise of its own: at tens of thousands a second they
 * would cost more than all the rest.
 */
export class FrontendRequest extends IncomingMessage {
  response: FrontendResponse | null = null;
  /** The model that the path of an infer request names. */
  entry: ModelEntry | null = null;
  /** When its headers were there, on the service's clock. */
  arrivalNs = 0;
  private reader: BodyReader | null = null;
  private limitBytes = 0;
  private first: Buffer | null = null;
  private more: Buffer[] | null = null;
  private bytes = 0;

  /** Exactly one of the reader's methods is called later, unless the client goes away before. */
  collect(reader: BodyReader, limitBytes: number): void {
    this.reader = reader;
    this.limitBytes = limitBytes;
    this.on('data', this.receive);
    this.on('end', this.finish);
  }

  private receive(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.limitBytes) this.overflow();
    else if (this.first === null) this.first = chunk;
    else if (this.more === null) this.more = [this.first, chunk];
    else this.more.push(chunk);
  }

  private finish(): void {
    const body = this.more === null ? (this.first ?? EMPTY) : Buffer.concat(this.more, this.bytes);
    this.reader?.read(this, body);
  }

  private overflow(): void {
    this.off('data', this.receive);
    this.off('end', this.finish);
    this.pause();
    this.reader?.refuse(this, tooLarge(this.limitBytes));
  }
}

export function tooLarge(limitBytes: number): Refusal {
  return new Refusal('tooLarge', `the body is larger than ${limitBytes} bytes`);
}

const EMPTY = Buffer.alloc(0);
