import { isUtf8 } from 'node:buffer';

/*
 * Tensors of BYTES, as in the Open Inference Protocol: for each element its length in four bytes, little-endian, and
 * then its bytes. Models take texts, so they must be UTF-8.
 */

/** Maximum number of elements of a tensor: each becomes a string of its own. */
const MAX_TEXTS = 1 << 20;
const LENGTH_BYTES = 4;

/** Number of elements by their lengths alone, at most one more than the maximum; the last may be incomplete. */
export function countTexts(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  for (let at = 0; at < bytes.length && count <= MAX_TEXTS; count++)
    at += LENGTH_BYTES + (bytes.length - at < LENGTH_BYTES ? 0 : view.getUint32(at, true));
  return count;
}

/** Reason why `bytes` are not a tensor of `count` texts; '' if they are. */
export function textsProblem(bytes: Uint8Array, count: number): string {
  if (count > MAX_TEXTS) return `${count} elements are more than ${MAX_TEXTS}, the most for BYTES`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (bytes.length - at < LENGTH_BYTES) return `expected ${count} elements, got ${i}`;
    const end = at + LENGTH_BYTES + view.getUint32(at, true);
    if (end > bytes.length) return `element ${i} is longer than the data`;
    if (!isUtf8(bytes.subarray(at + LENGTH_BYTES, end)))
      return `element ${i} is not UTF-8, which models take as text`;
    // onnxruntime-node truncates a text there.
    if (bytes.subarray(at + LENGTH_BYTES, end).includes(0)) return `element ${i} has a zero byte`;
    at = end;
  }
  return at === bytes.length ? '' : `${bytes.length - at} bytes are left after ${count} elements`;
}

/** Elements of a valid tensor. */
export function textsOf(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at < buffer.length; ) {
    const from = at + LENGTH_BYTES;
    at = from + buffer.readUInt32LE(at);
    texts.push(buffer.toString('utf8', from, at));
  }
  return texts;
}

export function bytesOfTexts(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const text of texts) size += LENGTH_BYTES + Buffer.byteLength(text);
  const buffer = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const text of texts) {
    const written = buffer.write(text, at + LENGTH_BYTES);
    buffer.writeUInt32LE(written, at);
    at += LENGTH_BYTES + written;
  }
  return buffer;
}
