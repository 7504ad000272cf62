import protobuf, { type Reader } from 'protobufjs';
import { DATATYPES, type Datatype } from '../../model.js';
import { Refusal, shown } from '../refusal.js';
import { newView } from '../views.js';
import { LENGTH_DELIMITED } from './infer-message.js';

/** A tensor whose elements lie in the typed lists of a message. */
interface TypedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Elements of its shape. */
  readonly count: number;
  /** Each has some of the elements, one after the other. */
  readonly parts: readonly Uint8Array[];
}

/**
 * Reads typed contents into the bytes of a tensor. Throws a refusal unless there are exactly as many elements as its
 * shape has, in the list that its datatype goes into, or if elements that have no fixed size take more than `mostBytes`.
 */
export function bytesOfContents(tensor: TypedTensor, mostBytes: number): Uint8Array {
  const { name, datatype, count, parts } = tensor;
  const list = LISTS[datatype];
  if (list === undefined)
    throw new Refusal('invalid', `input ${shown(name)}: ${datatype} must come in raw_input_contents`);
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (bytes < count * list.leastBytes) throw wrongElements(tensor, list, 'fewer');
  if (bytes > mostBytes && list.wire !== FIXED32 && list.wire !== FIXED64) {
    const limit = `${NAMES[list.field]} may take ${mostBytes} bytes`;
    throw new Refusal('tooLarge', `input ${shown(name)}: ${limit}: send raw_input_contents instead`);
  }
  const elements = datatype === 'BYTES' ? new Texts(count, bytes) : new Numbers(tensor);
  try {
    for (const part of parts) readPart(part, tensor, list, elements);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const reason = (error as Error).message;
    throw new Refusal('invalid', `input ${shown(name)}: its contents are malformed: ${reason}`);
  }
  if (!elements.isFull) throw wrongElements(tensor, list, 'fewer');
  return elements.bytes;
}

/** What elements are read into. */
interface Elements {
  readonly bytes: Uint8Array;
  readonly isFull: boolean;
  read(reader: Reader, list: List): void;
  /** Takes a packed list of elements that have one size; false: they are not, or too many. */
  copy(packed: Uint8Array, list: List): boolean;
}

function readPart(part: Uint8Array, tensor: TypedTensor, list: List, elements: Elements): void {
  const reader = protobuf.Reader.create(part);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const [field, wire] = [tag >>> 3, tag & 7];
    const foreign = NAMES[field];
    if (field !== list.field) {
      if (foreign !== undefined) throw wrongElements(tensor, list, `elements in ${foreign}`);
      reader.skipType(wire);
    } else if (wire === LENGTH_DELIMITED && list.wire !== LENGTH_DELIMITED) {
      const packed = reader.bytes();
      if (elements.copy(packed, list)) continue;
      const within = protobuf.Reader.create(packed);
      while (within.pos < within.len) readOne(within, tensor, list, elements);
    } else if (wire === list.wire) readOne(reader, tensor, list, elements);
    else throw new Error(`wire type ${wire} in ${NAMES[field]}`);
  }
}

function readOne(reader: Reader, tensor: TypedTensor, list: List, elements: Elements): void {
  if (elements.isFull) throw wrongElements(tensor, list, 'more');
  elements.read(reader, list);
}

/** Elements of one size. */
class Numbers implements Elements {
  readonly bytes: Uint8Array;
  private readonly view: { [index: number]: number };
  /** Halves of 64-bit integers. */
  private readonly words: Int32Array;
  private filled = 0;

  constructor(private readonly tensor: TypedTensor) {
    const view = newView(tensor.datatype, tensor.count);
    this.view = view as Float64Array;
    this.bytes = new Uint8Array(view.buffer as ArrayBuffer);
    this.words = view.BYTES_PER_ELEMENT === 8 ? new Int32Array(view.buffer as ArrayBuffer) : NO_WORDS;
  }

  get isFull(): boolean {
    return this.filled === this.tensor.count;
  }

  copy(packed: Uint8Array, { wire }: List): boolean {
    if (wire === VARINT) return false;
    const size = DATATYPES[this.tensor.datatype].bytes;
    const count = packed.length / size;
    if (!Number.isInteger(count) || count > this.tensor.count - this.filled) return false;
    this.bytes.set(packed, this.filled * size);
    this.filled += count;
    return true;
  }

  read(reader: Reader, { wire }: List): void {
    const index = this.filled++;
    const { datatype } = this.tensor;
    if (wire === FIXED32) this.view[index] = reader.float();
    else if (wire === FIXED64) this.view[index] = reader.double();
    else if (datatype === 'INT64' || datatype === 'UINT64') {
      const { low, high } = reader.int64();
      this.words[2 * index] = low;
      this.words[2 * index + 1] = high;
    } else if (datatype === 'BOOL') this.view[index] = reader.bool() ? 1 : 0;
    else {
      const value = datatype.startsWith('U') ? reader.uint32() : reader.int32();
      this.view[index] = value;
      // A typed array keeps only as many bits as it has.
      if (this.view[index] === value) return;
      const what = `element ${index} is ${value}, which is no ${datatype}`;
      throw new Refusal('invalid', `input ${shown(this.tensor.name)}: ${what}`);
    }
  }
}

/** Of a BYTES element in a tensor. */
const LENGTH_BYTES = 4;

/** Elements of BYTES, each with its length before it. */
class Texts implements Elements {
  private readonly buffer: Buffer;
  private at = 0;
  private filled = 0;

  constructor(
    private readonly count: number,
    contentBytes: number,
  ) {
    this.buffer = Buffer.allocUnsafeSlow(contentBytes + count * LENGTH_BYTES);
  }

  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.at);
  }

  get isFull(): boolean {
    return this.filled === this.count;
  }

  copy(): boolean {
    return false;
  }

  read(reader: Reader): void {
    const text = reader.bytes();
    this.at = this.buffer.writeUInt32LE(text.length, this.at);
    this.buffer.set(text, this.at);
    this.at += text.length;
    this.filled++;
  }
}

/** A list of InferTensorContents. */
interface List {
  readonly field: number;
  /** How an element is encoded that is not packed. */
  readonly wire: number;
  /** Of an element, at least. */
  readonly leastBytes: number;
}

const VARINT = 0;
const FIXED64 = 1;
const FIXED32 = 5;

/** The lists of InferTensorContents, by their field numbers. */
const NAMES: readonly (string | undefined)[] = [
  undefined,
  'bool_contents',
  'int_contents',
  'int64_contents',
  'uint_contents',
  'uint64_contents',
  'fp32_contents',
  'fp64_contents',
  'bytes_contents',
];

const INTS = { field: 2, wire: VARINT, leastBytes: 1 };
const UINTS = { field: 4, wire: VARINT, leastBytes: 1 };

/** The list that a datatype goes into. */
const LISTS: Readonly<Partial<Record<Datatype, List>>> = {
  BOOL: { field: 1, wire: VARINT, leastBytes: 1 },
  INT8: INTS,
  INT16: INTS,
  INT32: INTS,
  INT64: { field: 3, wire: VARINT, leastBytes: 1 },
  UINT8: UINTS,
  UINT16: UINTS,
  UINT32: UINTS,
  UINT64: { field: 5, wire: VARINT, leastBytes: 1 },
  FP32: { field: 6, wire: FIXED32, leastBytes: 4 },
  FP64: { field: 7, wire: FIXED64, leastBytes: 8 },
  BYTES: { field: 8, wire: LENGTH_DELIMITED, leastBytes: 2 },
};

const NO_WORDS = new Int32Array(0);

function wrongElements({ name, count }: TypedTensor, { field }: List, got: string): Refusal {
  const expected = `expected ${count} elements in ${NAMES[field]}, got ${got}`;
  return new Refusal('invalid', `input ${shown(name)}: ${expected}`);
}
