import { freeLarge } from '../../free-buffers.js';
import { freshBytes } from '../paged-bytes.js';
import { Refusal } from '../refusal.js';

/** Who gets the messages of one call. */
export interface MessageSink {
  /** A message of that many bytes begins: memory is taken only after this. Throws a refusal if it is too much. */
  announced(bytes: number): void;
  message(bytes: Uint8Array<ArrayBuffer>, isCompressed: boolean): void;
}

/**
 * Puts the messages of a gRPC call together from the bytes of its stream: a flag, four bytes of length, the message.
 * What comes in one piece is a view of that piece; a longer message gets a buffer of its own.
 */
export class MessageReader {
  /** Bytes of the present prefix that were read. */
  private prefixBytes = 0;
  private flag = 0;
  private length = 0;
  private body: Uint8Array<ArrayBuffer> | null = null;
  private filled = 0;
  private isPaused = false;
  /** What came while paused. */
  private rest: Uint8Array<ArrayBuffer> | null = null;

  constructor(
    private readonly sink: MessageSink,
    private readonly maxBytes: number,
  ) {}

  /** Whether it is inside a message. */
  get isPartial(): boolean {
    return this.prefixBytes > 0;
  }

  /** Whether bytes wait for `resume`. */
  get isHeld(): boolean {
    return this.rest !== null;
  }

  /** Bytes of the present message that have come. */
  get progressBytes(): number {
    return this.prefixBytes + this.filled;
  }

  /** Throws a refusal. */
  push(chunk: Uint8Array<ArrayBuffer>): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.isPaused) {
        this.rest = chunk.subarray(at);
        return;
      }
      at = this.prefixBytes < PREFIX_BYTES ? this.readPrefix(chunk, at) : this.readBody(chunk, at);
    }
  }

  /** No more is read: the memory of a message that is not whole goes back. */
  discard(): void {
    if (this.body !== null) freeLarge([this.body]);
    this.body = null;
    this.rest = null;
  }

  /** From within `message`: the next one is not read before `resume`. */
  pause(): void {
    this.isPaused = true;
  }

  /** Throws a refusal. */
  resume(): void {
    const { rest } = this;
    this.isPaused = false;
    this.rest = null;
    if (rest !== null) this.push(rest);
  }

  private readPrefix(chunk: Uint8Array<ArrayBuffer>, from: number): number {
    let at = from;
    while (at < chunk.length && this.prefixBytes < PREFIX_BYTES) {
      const byte = chunk[at++];
      if (this.prefixBytes === 0) this.flag = byte;
      else this.length = this.length * 256 + byte;
      this.prefixBytes++;
    }
    if (this.prefixBytes === PREFIX_BYTES) this.begin();
    return at;
  }

  private begin(): void {
    if (this.flag > 1)
      throw new Refusal(
        'invalid',
        `a message begins with ${this.flag}; expected 0, or 1 if it is compressed`,
      );
    if (this.length > this.maxBytes)
      throw new Refusal(
        'tooLarge',
        `a message of ${this.length} bytes is more than the limit of ${this.maxBytes}`,
      );
    this.sink.announced(this.length);
    if (this.length === 0) this.deliver(EMPTY);
  }

  private readBody(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const end = at + this.length - this.filled;
    if (this.body === null) {
      if (end <= chunk.length) {
        this.deliver(chunk.subarray(at, end));
        return end;
      }
      this.body = freshBytes(this.length);
    }
    const until = Math.min(end, chunk.length);
    this.body.set(chunk.subarray(at, until), this.filled);
    this.filled += until - at;
    if (this.filled === this.length) this.deliver(this.body);
    return until;
  }

  private deliver(bytes: Uint8Array<ArrayBuffer>): void {
    const isCompressed = this.flag === 1;
    this.prefixBytes = 0;
    this.length = 0;
    this.filled = 0;
    this.body = null;
    this.sink.message(bytes, isCompressed);
  }
}

const PREFIX_BYTES = 5;
const EMPTY = new Uint8Array(0);
