import { STATUS_DEVICE_ERROR } from '../../core/action.js';
import type { ResultMessage } from '../messages.js';

/**
 * Approximate size up to which items share a message: large enough to save messages, small enough for a shared stream.
 */
export const CHUNK_BYTES = 1024 * 1024;

/** Maximum size of a message without its tensors. */
export const ENVELOPE_BYTES = 4096;

/** Divides items, in order, into runs of about `CHUNK_BYTES`; a larger item gets its own. */
export function chunk<T>(
  items: readonly T[],
  tensorsOf: (item: T) => readonly Uint8Array[],
): (readonly T[])[] {
  const chunks: (readonly T[])[] = [];
  let begin = 0;
  let bytes = 0;
  for (let i = 0; i < items.length; i++) {
    const tensors = tensorsOf(items[i]);
    const size = ITEM_BYTES + tensors.length * SIZE_BYTES + tensorBytes(tensors);
    if (i > begin && bytes + size > CHUNK_BYTES) {
      chunks.push(items.slice(begin, i));
      begin = i;
      bytes = 0;
    }
    bytes += size;
  }
  if (begin < items.length) chunks.push(begin === 0 ? items : items.slice(begin));
  return chunks;
}

export function tensorBytes(tensors: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const tensor of tensors) bytes += tensor.byteLength;
  return bytes;
}

/** Approximate size of an action or result without its tensors. */
const ITEM_BYTES = 256;
/** More than the text of a tensor's size. */
const SIZE_BYTES = 16;

/** Returns the result, or an error in its place if its outputs exceed the controller's message limit. */
export function withinLimit(result: ResultMessage, maxMessageBytes: number): ResultMessage {
  const mostBytes = maxMessageBytes - ENVELOPE_BYTES;
  const bytes = tensorBytes(result.outputs);
  if (bytes <= mostBytes) return result;
  const error = `outputs of ${bytes} bytes exceed the controller's message limit of ${mostBytes}`;
  const nothing = { outputs: [], shapes: undefined, inputErrors: undefined };
  return { ...result, ...nothing, status: STATUS_DEVICE_ERROR, error };
}
