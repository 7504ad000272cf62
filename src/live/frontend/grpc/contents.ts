import type { Datatype } from '../../model.js';
import { Refusal, shown } from '../refusal.js';
import { newView } from '../views.js';
import type { Span } from './infer-message.js';
import {
  FIXED32,
  FIXED64,
  FieldCount,
  LENGTH_DELIMITED,
  malformed,
  ProtobufReader,
  VARINT,
} from './protobuf-reader.js';

/** A tensor whose elements lie in the typed lists of a message. Plain data. */
export interface TypedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Elements of its shape. */
  readonly count: number;
  readonly spans: readonly Span[];
}

/**
 * Reads typed contents into the bytes of a tensor. Throws a refusal unless there are exactly as many elements as its
 * shape has, in the list that its datatype goes into. Memory is taken only if the message is long enough for them.
 */
export function bytesOfContents(
  message: Uint8Array<ArrayBuffer>,
  tensor: TypedTensor,
): Uint8Array<ArrayBuffer> {
  const { name, datatype, count, spans } = tensor;
  const list = LIST_OF[datatype];
  if (list === undefined)
    throw new Refusal('invalid', `input ${shown(name)}: ${datatype} must come in raw_input_contents`);
  if (datatype === 'BYTES') return bytesOfTextContents(message, tensor, list);
  const { wire, leastBytes } = LISTS[list];
  let present = 0;
  for (const { from, to } of spans) present += to - from;
  const elements = present < count * leastBytes ? null : new Elements(tensor);
  if (elements === null || !readAll(message, tensor, list, wire, elements))
    throw wrongCount(message, tensor, list);
  return elements.bytes;
}

/** The elements of bytes_contents, each with its length before it. */
function bytesOfTextContents(
  message: Uint8Array<ArrayBuffer>,
  tensor: TypedTensor,
  list: number,
): Uint8Array<ArrayBuffer> {
  let bytes = 0;
  let elements = 0;
  forEachText(message, tensor, list, (from, to) => {
    bytes += LENGTH_BYTES + to - from;
    elements++;
  });
  if (elements !== tensor.count) throw wrongCount(message, tensor, list);
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  forEachText(message, tensor, list, (from, to) => {
    at = whole.writeUInt32LE(to - from, at);
    whole.set(message.subarray(from, to), at);
    at += to - from;
  });
  return whole;
}

function forEachText(
  message: Uint8Array<ArrayBuffer>,
  tensor: TypedTensor,
  list: number,
  visit: (from: number, to: number) => void,
): void {
  const fields = new FieldCount();
  let elements = 0;
  for (const { from, to } of tensor.spans) {
    const reader = new ProtobufReader(message, from, to, fields);
    while (reader.at < reader.end) {
      // Not counted: the shape bounds how many there may be.
      reader.nextUncounted();
      if (reader.field !== list || elements === tensor.count) throw wrongCount(message, tensor, list);
      const end = reader.span();
      visit(reader.at, end);
      reader.at = end;
      elements++;
    }
  }
}

/** Of a BYTES element in a tensor. */
const LENGTH_BYTES = 4;

/** False: there are more or less elements, or elements of another list. */
function readAll(
  message: Uint8Array<ArrayBuffer>,
  { spans }: TypedTensor,
  list: number,
  wire: number,
  elements: Elements,
): boolean {
  const fields = new FieldCount();
  for (const { from, to } of spans) {
    const reader = new ProtobufReader(message, from, to, fields);
    while (reader.at < reader.end) {
      // Not counted: the shape bounds how many there may be.
      reader.nextUncounted();
      if (reader.field === list && reader.type === wire) {
        if (elements.isFull) return false;
        elements.readOne(reader);
        continue;
      }
      fields.count();
      if (reader.field === list) {
        if (!elements.readPacked(reader, reader.span())) return false;
      } else if (reader.field < LISTS.length) return false;
      else reader.skip();
    }
  }
  return elements.isFull;
}

/** The elements of a tensor, as they are filled in. */
class Elements {
  readonly bytes: Uint8Array<ArrayBuffer>;
  private readonly view: { [index: number]: number };
  private readonly words: Int32Array;
  private readonly count: number;
  private filled = 0;

  constructor(private readonly tensor: TypedTensor) {
    const view = newView(tensor.datatype, tensor.count);
    const buffer = view.buffer as ArrayBuffer;
    this.count = tensor.count;
    this.view = view as Float64Array;
    this.bytes = new Uint8Array(buffer);
    this.words = view.BYTES_PER_ELEMENT === 8 ? new Int32Array(buffer) : NO_WORDS;
  }

  get isFull(): boolean {
    return this.filled === this.count;
  }

  readOne(reader: ProtobufReader): void {
    if (reader.type === VARINT) {
      reader.varint();
      this.put(reader.low, reader.high);
    } else this.copy(reader, reader.at + (reader.type === FIXED32 ? 4 : 8));
  }

  /** False: that is too many. */
  readPacked(reader: ProtobufReader, end: number): boolean {
    const { datatype } = this.tensor;
    if (datatype === 'FP32' || datatype === 'FP64') {
      const size = datatype === 'FP32' ? 4 : 8;
      if ((end - reader.at) % size !== 0) throw malformed();
      if ((end - reader.at) / size > this.count - this.filled) return false;
      this.copy(reader, end);
      return true;
    }
    while (reader.at < end) {
      if (this.isFull) return false;
      reader.varint();
      this.put(reader.low, reader.high);
    }
    if (reader.at !== end) throw malformed();
    return true;
  }

  private copy(reader: ProtobufReader, end: number): void {
    if (end > reader.end) throw malformed();
    const size = this.tensor.datatype === 'FP32' ? 4 : 8;
    this.bytes.set(reader.bytes.subarray(reader.at, end), this.filled * size);
    this.filled += (end - reader.at) / size;
    reader.at = end;
  }

  private put(low: number, high: number): void {
    const index = this.filled++;
    const { datatype } = this.tensor;
    if (datatype === 'INT64' || datatype === 'UINT64') {
      this.words[2 * index] = low;
      this.words[2 * index + 1] = high;
    } else if (datatype === 'BOOL') this.view[index] = low === 0 && high === 0 ? 0 : 1;
    else {
      const value = datatype.startsWith('U') ? low >>> 0 : low;
      this.view[index] = value;
      // A typed array keeps only as many bits as it has.
      if (this.view[index] !== value) {
        const what = `element ${index} is ${value}, which is no ${datatype}`;
        throw new Refusal('invalid', `input ${shown(this.tensor.name)}: ${what}`);
      }
    }
  }
}

/** How the elements of a list are encoded. */
interface List {
  readonly name: string;
  readonly wire: number;
  /** Of an element in a packed list. */
  readonly leastBytes: number;
}

/** The lists of InferTensorContents, by their field numbers. */
const LISTS: readonly List[] = [
  { name: '', wire: -1, leastBytes: 0 },
  { name: 'bool_contents', wire: VARINT, leastBytes: 1 },
  { name: 'int_contents', wire: VARINT, leastBytes: 1 },
  { name: 'int64_contents', wire: VARINT, leastBytes: 1 },
  { name: 'uint_contents', wire: VARINT, leastBytes: 1 },
  { name: 'uint64_contents', wire: VARINT, leastBytes: 1 },
  { name: 'fp32_contents', wire: FIXED32, leastBytes: 4 },
  { name: 'fp64_contents', wire: FIXED64, leastBytes: 8 },
  { name: 'bytes_contents', wire: LENGTH_DELIMITED, leastBytes: 2 },
];

/** The list that a datatype goes into. */
const LIST_OF: Readonly<Record<string, number | undefined>> = {
  BOOL: 1,
  INT8: 2,
  INT16: 2,
  INT32: 2,
  INT64: 3,
  UINT8: 4,
  UINT16: 4,
  UINT32: 4,
  UINT64: 5,
  FP32: 6,
  FP64: 7,
  BYTES: 8,
};

const NO_WORDS = new Int32Array(0);

function wrongCount(message: Uint8Array<ArrayBuffer>, tensor: TypedTensor, list: number): Refusal {
  const counts = countElements(message, tensor.spans);
  const strays = LISTS.map(({ name }, other) =>
    other === list || counts[other] === 0 ? '' : `, and ${counts[other]} in ${name}`,
  );
  const expected = `expected ${tensor.count} elements in ${LISTS[list].name}`;
  return new Refusal(
    'invalid',
    `input ${shown(tensor.name)}: ${expected}, got ${counts[list]}${strays.join('')}`,
  );
}

/** How many elements each list has. */
function countElements(message: Uint8Array<ArrayBuffer>, spans: readonly Span[]): number[] {
  const counts: number[] = LISTS.map(() => 0);
  const fields = new FieldCount();
  for (const { from, to } of spans) {
    const reader = new ProtobufReader(message, from, to, fields);
    while (reader.next()) {
      const { field, type } = reader;
      const list = LISTS[field];
      if (list === undefined || type !== LENGTH_DELIMITED || list.wire === LENGTH_DELIMITED) {
        if (list !== undefined) counts[field]++;
        reader.skip();
      } else {
        const end = reader.span();
        counts[field] += list.wire === VARINT ? varintsIn(reader, end) : (end - reader.at) / list.leastBytes;
        reader.at = end;
      }
    }
  }
  return counts;
}

function varintsIn({ bytes, at }: ProtobufReader, end: number): number {
  let count = 0;
  for (let i = at; i < end; i++) if (bytes[i] < 128) count++;
  return count;
}
