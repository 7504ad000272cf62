/** Larger tensors are handed from thread to thread; smaller ones are copied, many into one buffer. */
export const LARGE_BYTES = 16 * 1024;

/** Whether requests of a batch get such tensors in buffers of their own, so that each can be handed over alone. */
export function areApart(tensors: readonly { readonly bytes: number }[], count: number): boolean {
  return count > 1 && tensors.some(({ bytes }) => bytes > LARGE_BYTES);
}

/** Where tensors of a parcel begin, so that any element type can be read in place. */
const ALIGNMENT = 8;

/** Tensors on their way to another thread. Plain data. */
export interface ParcelContents {
  /** The small ones, one after the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly large: readonly Uint8Array<ArrayBuffer>[];
}

/** Packs tensors for one message to another thread. Each is a number there, for `openParcel` in the same order. */
export class Parcel {
  private small: Uint8Array[] = [];
  private bytes = 0;
  private large: Uint8Array<ArrayBuffer>[] = [];
  private readonly buffers = new Set<ArrayBuffer>();

  /**
   * `mayMove`: the buffer of a large tensor may go over to the other thread; otherwise it is copied. All tensors in that
   * buffer must be in this parcel. Returns the tensor's number.
   */
  add(tensor: Uint8Array, mayMove: boolean): number {
    const { length } = tensor;
    if (length <= LARGE_BYTES) {
      this.small.push(tensor);
      this.bytes += aligned(length);
      return length;
    }
    const own = mayMove ? (tensor as Uint8Array<ArrayBuffer>) : new Uint8Array(tensor);
    this.buffers.add(own.buffer);
    return -this.large.push(own);
  }

  /** What to send, and the buffers that go over with it. The parcel is empty again. */
  seal(): { readonly contents: ParcelContents; readonly transfer: ArrayBuffer[] } {
    const bytes = new Uint8Array(this.bytes);
    let at = 0;
    for (const tensor of this.small) {
      bytes.set(tensor, at);
      at += aligned(tensor.length);
    }
    const contents = { bytes, large: this.large };
    const transfer = [bytes.buffer, ...this.buffers];
    this.small = [];
    this.bytes = 0;
    this.large = [];
    this.buffers.clear();
    return { contents, transfer };
  }
}

/** Takes tensors out of a parcel, in the order in which they were added. */
export class OpenParcel {
  private at = 0;

  constructor(private readonly contents: ParcelContents) {}

  /** `number`: what `add` returned. Small tensors are views of a buffer that they share. */
  take(number: number): Uint8Array<ArrayBuffer> {
    const { bytes, large } = this.contents;
    if (number < 0) return large[-number - 1];
    const tensor = bytes.subarray(this.at, this.at + number);
    this.at += aligned(number);
    return tensor;
  }
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}
