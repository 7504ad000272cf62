import protobuf from 'protobufjs';
import type { Datatype } from '../../model.js';
import { ApiError, shown } from '../api-error.js';
import { decodeContents } from '../grpc-messages.js';
import { newView } from '../views.js';

/** A tensor whose elements lie in the typed lists of a message. */
interface TypedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Elements of its shape. */
  readonly count: number;
  /** InferTensorContents, in parts that have some of the elements each, one after the other. */
  readonly parts: readonly Uint8Array[];
}

type Element = number | boolean | { readonly low: number; readonly high: number };

/**
 * Reads typed contents into the bytes of a tensor. Throws an `ApiError` unless there are exactly as many elements as its
 * shape has, in the list that its datatype goes into, and in at most `mostBytes`.
 */
export function bytesOfContents(
  { name, datatype, count, parts }: TypedTensor,
  mostBytes: number,
): Uint8Array {
  const refuse = (why: string) => new ApiError('invalid', `input ${shown(name)}: ${why}`);
  const list = LISTS[datatype];
  if (list === undefined) throw refuse(`${datatype} must come in raw_input_contents`);
  const bytes = Buffer.concat(parts);
  if (bytes.length > mostBytes) {
    const limit = `typed contents may take ${mostBytes} bytes`;
    throw new ApiError('tooLarge', `input ${shown(name)}: ${limit}; send raw_input_contents instead`);
  }
  try {
    if (datatype === 'BYTES') return textsOf(bytes, count);
    const { [list]: elements = [], ...others } = decodeContents(bytes) as Record<string, readonly Element[]>;
    for (const other in others)
      if (others[other].length > 0) throw new Error(`expected ${list}, got ${other}`);
    if (elements.length !== count) throw wrongCount(count, list, elements.length);
    return tensorOf(datatype, elements);
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

function tensorOf(datatype: Datatype, elements: readonly Element[]): Uint8Array {
  const view = newView(datatype, elements.length);
  const values = view as Float64Array;
  const words = view.BYTES_PER_ELEMENT === 8 ? new Int32Array(view.buffer as ArrayBuffer) : null;
  for (let i = 0; i < elements.length; i++) {
    const value = elements[i];
    if (typeof value === 'object' && words !== null) {
      words[2 * i] = value.low;
      words[2 * i + 1] = value.high;
      continue;
    }
    values[i] = Number(value);
    // A typed array keeps only as many bits as it has.
    if (datatype.includes('INT') && values[i] !== value)
      throw new Error(`element ${i} is ${value}, which is no ${datatype}`);
  }
  return new Uint8Array(view.buffer as ArrayBuffer);
}

/** Elements of BYTES, each with its length before it. Decoded at once, empty ones would take a hundred times their bytes. */
function textsOf(bytes: Buffer, count: number): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  // Each has two bytes at least.
  const tensor = Buffer.allocUnsafeSlow(bytes.length + LENGTH_BYTES * Math.min(count, bytes.length / 2));
  let [texts, at] = [0, 0];
  for (; reader.pos < reader.len && texts < count; texts++) {
    if (reader.uint32() !== BYTES_ELEMENT) throw new Error('expected bytes_contents, got another list');
    const text = reader.bytes();
    at = tensor.writeUInt32LE(text.length, at);
    tensor.set(text, at);
    at += text.length;
  }
  const left = reader.pos < reader.len ? 1 : 0;
  if (texts + left !== count) throw wrongCount(count, 'bytes_contents', texts + left);
  return tensor.subarray(0, at);
}

function wrongCount(count: number, list: string, got: number): Error {
  return new Error(`expected ${count} elements in ${list}, got ${got > count ? 'more' : got}`);
}

/** Bytes of the length before each BYTES element of a tensor. */
const LENGTH_BYTES = 4;
/** Tag of an element of bytes_contents: field 8, with a length. */
const BYTES_ELEMENT = 0x42;

/** The list that a datatype goes into. */
const LISTS: Readonly<Partial<Record<Datatype, string>>> = {
  ...{ BOOL: 'bool_contents', INT8: 'int_contents', INT16: 'int_contents', INT32: 'int_contents' },
  ...{ INT64: 'int64_contents', UINT8: 'uint_contents', UINT16: 'uint_contents', UINT32: 'uint_contents' },
  ...{ UINT64: 'uint64_contents', FP32: 'fp32_contents', FP64: 'fp64_contents', BYTES: 'bytes_contents' },
};
