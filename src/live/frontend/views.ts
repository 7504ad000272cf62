import { DATATYPES, type Datatype, TENSOR_ARRAYS } from '../model.js';

/** Typed arrays that show the elements of a tensor; FP16 as its bits. */
export interface Views {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: Uint8Array;
}

/** The elements of a tensor: a view of `bytes`, or of a copy where they lie across the machine's words. */
export function viewOf<T extends Datatype>(datatype: T, bytes: Uint8Array): Views[T] {
  const { bytes: size } = DATATYPES[datatype];
  // Not `slice`, which a Buffer answers with a view.
  const whole = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  const view = new TENSOR_ARRAYS[datatype](
    whole.buffer as ArrayBuffer,
    whole.byteOffset,
    whole.length / size,
  );
  return view as unknown as Views[T];
}

/** A tensor of `count` zeros. */
export function newView<T extends Datatype>(datatype: T, count: number): Views[T] {
  return new TENSOR_ARRAYS[datatype](count) as unknown as Views[T];
}

/** Smaller buffers may lie in a pool that others share, and are copied as fast. */
const LEAST_BYTES = 16 * 1024;

/** The buffers that the views fill alone or share only among themselves: those can move to another thread. */
export function ownBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of views) if (buffer.byteLength >= LEAST_BYTES) buffers.add(buffer as ArrayBuffer);
  return [...buffers];
}
