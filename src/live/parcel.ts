import { MessageChannel } from 'node:worker_threads';

/** Size above which tensors are moved from thread to thread; smaller ones are copied, many into one buffer. */
export const LARGE_BYTES = 16 * 1024;

/** True if requests of a batch get such tensors in buffers of their own, so that each can be moved alone. */
export function areApart(tensors: readonly { readonly bytes: number }[], count: number): boolean {
  return count > 1 && tensors.some(({ bytes }) => bytes > LARGE_BYTES);
}

/** Alignment of tensors in a parcel, so that any element type can be read in place. */
const ALIGNMENT = 8;

/** Numbers and tensors in transit to another thread. Plain data. */
export interface ParcelContents {
  /**
   * Count of numbers, the numbers, and the small tensors. A short parcel is a text with a character per byte: that
   * crosses in a third of the time of a buffer, and leaves no buffer for the collector.
   */
  readonly bytes: string | Uint8Array<ArrayBuffer>;
  readonly large: readonly Uint8Array<ArrayBuffer>[];
}

/** Maximum size of a text. */
const TEXT_BYTES = 64 * 1024;

/** Packs numbers and tensors for one message to another thread. `OpenParcel` returns them in the same order. */
export class Parcel {
  private numbers: number[] = [];
  private small: Uint8Array[] = [];
  private bytes = 0;
  private large: Uint8Array<ArrayBuffer>[] = [];
  private readonly buffers = new Set<ArrayBuffer>();
  private readonly scratch = Buffer.allocUnsafeSlow(TEXT_BYTES);

  addNumber(number: number): void {
    this.numbers.push(number);
  }

  /**
   * Also adds one number. `mayMove`: the buffer of a large tensor may move to the other thread; otherwise it is copied.
   * All tensors in that buffer must be in this parcel.
   */
  add(tensor: Uint8Array, mayMove: boolean): void {
    const { length } = tensor;
    if (length <= LARGE_BYTES) {
      this.small.push(tensor);
      this.bytes += aligned(length);
      this.numbers.push(length);
      return;
    }
    const own = mayMove ? (tensor as Uint8Array<ArrayBuffer>) : new Uint8Array(tensor);
    this.buffers.add(own.buffer);
    this.numbers.push(-this.large.push(own));
  }

  /** Returns the contents to send, and the buffers that move with them. The parcel is empty again. */
  seal(): { readonly contents: ParcelContents; readonly transfer: ArrayBuffer[] } {
    const headBytes = (1 + this.numbers.length) * Float64Array.BYTES_PER_ELEMENT;
    const length = headBytes + this.bytes;
    const isText = length <= TEXT_BYTES;
    const bytes = isText ? this.scratch : new Uint8Array(length);
    this.write(bytes, headBytes);
    const transfer = [...this.buffers];
    if (!isText) transfer.push(bytes.buffer);
    const contents = {
      bytes: isText ? this.scratch.toString('latin1', 0, length) : bytes,
      large: this.large,
    };
    this.numbers = [];
    this.small = [];
    this.bytes = 0;
    this.large = [];
    this.buffers.clear();
    return { contents, transfer };
  }

  private write(bytes: Uint8Array<ArrayBuffer>, headBytes: number): void {
    const { numbers, small } = this;
    const head = new Float64Array(bytes.buffer, 0, 1 + numbers.length);
    head[0] = numbers.length;
    for (let i = 0; i < numbers.length; i++) head[i + 1] = numbers[i];
    let at = headBytes;
    for (let i = 0; i < small.length; i++) {
      bytes.set(small[i], at);
      at += aligned(small[i].length);
    }
  }
}

/** Unpacks the numbers and tensors of a parcel, in the order in which they were added. */
export class OpenParcel {
  private readonly bytes: Uint8Array<ArrayBuffer>;
  private readonly numbers: Float64Array;
  private nth = 0;
  private at: number;

  constructor(private readonly contents: ParcelContents) {
    const bytes = typeof contents.bytes === 'string' ? bytesOf(contents.bytes) : contents.bytes;
    const [count] = new Float64Array(bytes.buffer, bytes.byteOffset, 1);
    this.bytes = bytes;
    this.at = bytes.byteOffset + (1 + count) * Float64Array.BYTES_PER_ELEMENT;
    this.numbers = new Float64Array(bytes.buffer, bytes.byteOffset, 1 + count);
  }

  /** True if nothing is left. */
  get isEmpty(): boolean {
    return this.nth + 1 >= this.numbers.length;
  }

  takeNumber(): number {
    this.nth++;
    return this.numbers[this.nth];
  }

  /** Small tensors are views of a shared buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const number = this.takeNumber();
    if (number < 0) return this.contents.large[-number - 1];
    const tensor = new Uint8Array(this.bytes.buffer, this.at, number);
    this.at += aligned(number);
    return tensor;
  }
}

/** Aligned so that any element type can be read in place. */
function bytesOf(text: string): Buffer<ArrayBuffer> {
  // Node's pool of small buffers is aligned to eight bytes; a buffer of its own is anyway.
  const bytes = Buffer.from(text, 'latin1');
  return bytes.byteOffset % ALIGNMENT === 0 ? bytes : Buffer.from(new Uint8Array(bytes).buffer);
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** Copies of tensors in one buffer, which can be moved to another thread. */
export function copied(tensors: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  let bytes = 0;
  for (const { length } of tensors) bytes += aligned(length);
  // Not empty: a buffer without bytes is taken for one that was moved.
  const all = new Uint8Array(Math.max(bytes, ALIGNMENT));
  let at = 0;
  return tensors.map((tensor) => {
    const copy = all.subarray(at, at + tensor.length);
    copy.set(tensor);
    at += aligned(tensor.length);
    return copy;
  });
}

/** Buffers to move to another thread, instead of copying them. They must be whole. */
export function buffersOf(messages: readonly (readonly Uint8Array[])[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const parts of messages) {
    // An empty buffer may have been moved before, which cannot be done twice.
    for (const part of parts) if (part.byteLength > 0) buffers.add(part.buffer as ArrayBuffer);
  }
  return [...buffers];
}

/** A port without a receiver: buffers moved to it are freed at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the buffers of large tensors or models now, without a turn of the event loop. Otherwise they stay until this
 * thread's garbage is collected, which an idle thread never does. No view of these buffers may be used afterwards.
 */
export function freeLarge(tensors: readonly Uint8Array[]): void {
  let buffers: Set<ArrayBuffer> | null = null;
  for (let i = 0; i < tensors.length; i++) {
    if (tensors[i].length <= LARGE_BYTES) continue;
    buffers ??= new Set();
    buffers.add(tensors[i].buffer as ArrayBuffer);
  }
  if (buffers !== null) nowhere.postMessage(null, [...buffers]);
}
