import type { MessageTypeDefinition } from '@grpc/proto-loader';

/** Limit on nested messages in a message: more than a chunk of the smallest actions or results, or 5,000 models. */
const MOST_MESSAGES = 200_000;
/** Limit on numbers in a message. */
const MOST_NUMBERS = 2_000_000;
/** Limit on names, reasons and errors, which are for people. */
const MOST_TEXT_BYTES = 64 * 1024;

/** Fields of a message, by number. */
interface Layout {
  readonly [field: number]: {
    readonly type: FieldType;
    readonly repeated: boolean;
    readonly of: Layout | null;
  };
}

type FieldType = 'message' | 'bytes' | 'text' | 'int32' | 'int64' | 'fixed32' | 'double';

type Definition = MessageTypeDefinition<object, object>;

/**
 * Checks an encoded message before it is decoded: throws `Error` if it does not have the layout of the protocol file,
 * or if decoding would create more objects than any honest peer needs: 64 KiB of compressed zeros would otherwise
 * become millions of them. Reads no tensor: its time depends on the number of fields.
 */
export class MessageLimits {
  private readonly layout: Layout;
  private at = 0;
  private messages = 0;
  private numbers = 0;
  private bytes: Uint8Array = new Uint8Array();

  constructor(root: Definition, byName: Readonly<Record<string, Definition>>) {
    this.layout = layoutOf(root, byName);
  }

  check(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.messages = 0;
    this.numbers = 0;
    try {
      this.message(this.layout, bytes.length);
    } finally {
      this.bytes = new Uint8Array();
    }
  }

  private message(layout: Layout, end: number): void {
    if (++this.messages > MOST_MESSAGES) throw new Error(`has more than ${MOST_MESSAGES} parts`);
    while (this.at < end) {
      const tag = this.uint32(end);
      const field = layout[tag >>> 3];
      if (field === undefined) throw new Error(`has the unknown field ${tag >>> 3}`);
      this.value(field, tag & 7, end);
    }
  }

  private value({ type, repeated, of }: Layout[number], wireType: number, end: number): void {
    if (wireType === LENGTH_DELIMITED) {
      const length = this.uint32(end);
      if (length > end - this.at) throw new Error('has a part that is longer than the whole');
      const partEnd = this.at + length;
      if (of !== null) this.message(of, partEnd);
      else if (type === 'bytes') this.count();
      else if (type === 'text') this.text(length);
      else if (repeated && type !== 'fixed32' && type !== 'double') this.packed(type, partEnd);
      else throw new Error(NOT_THE_TYPE);
      this.at = partEnd;
      return;
    }
    if (wireType === VARINT && (type === 'int32' || type === 'int64')) this.integer(type, end);
    else if (wireType === FIXED32 && type === 'fixed32' && end - this.at >= 4) this.at += 4;
    else if (wireType === FIXED64 && type === 'double' && end - this.at >= 8) this.at += 8;
    else throw new Error(NOT_THE_TYPE);
  }

  private text(length: number): void {
    this.count();
    if (length > MOST_TEXT_BYTES) throw new Error(`has a text of ${length} bytes`);
  }

  private packed(type: FieldType, end: number): void {
    while (this.at < end) this.integer(type, end);
  }

  private integer(type: FieldType, end: number): void {
    this.count();
    const begin = this.at;
    while (this.at < end && this.bytes[this.at] >= 0x80) this.at++;
    const length = ++this.at - begin;
    // The decoder reads a 32-bit number of more than five bytes as a negative one: always ten.
    const fits = length <= 5 || length === 10 || (type === 'int64' && length < 10);
    if (this.at > end || !fits) throw new Error(NO_NUMBER);
  }

  private count(): void {
    if (++this.numbers > MOST_NUMBERS) throw new Error(`has more than ${MOST_NUMBERS} values`);
  }

  private uint32(end: number): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 35 && this.at < end; factor *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error(NO_NUMBER);
  }
}

const NO_NUMBER = 'has a number without an end';
const NOT_THE_TYPE = 'has a field of the wrong type';
const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

function layoutOf({ type }: Definition, byName: Readonly<Record<string, Definition>>): Layout {
  const layout: Record<number, Layout[number]> = {};
  for (const field of (type as DescriptorProto).field) {
    const of = field.type === 'TYPE_MESSAGE' ? layoutOf(byName[field.typeName], byName) : null;
    const repeated = field.label === 'LABEL_REPEATED';
    layout[field.number] = { type: TYPES[field.type] ?? 'int32', repeated, of };
  }
  return layout;
}

const TYPES: Readonly<Record<string, FieldType>> = {
  TYPE_MESSAGE: 'message',
  TYPE_BYTES: 'bytes',
  TYPE_STRING: 'text',
  TYPE_FIXED32: 'fixed32',
  TYPE_DOUBLE: 'double',
  TYPE_INT64: 'int64',
};

/** The relevant fields; the library types it as any object. */
interface DescriptorProto {
  readonly field: readonly {
    readonly number: number;
    readonly type: string;
    readonly label: string;
    readonly typeName: string;
  }[];
}
