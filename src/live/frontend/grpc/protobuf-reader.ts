import { Refusal } from '../refusal.js';

/** Wire types of protobuf. */
export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const GROUP_START = 3;
const GROUP_END = 4;
export const FIXED32 = 5;

/**
 * Fields that one message may have with all that is in it, but for the elements of tensors. They are read in one turn of the
 * event loop, in which others wait, and honest messages have some tens.
 */
const MAX_FIELDS = 4096;
const MAX_GROUP_DEPTH = 16;

/** How many fields of one message were read, over all readers of its parts. */
export class FieldCount {
  private left = MAX_FIELDS;

  /** Throws a refusal. */
  count(): void {
    this.left--;
    if (this.left < 0)
      throw new Refusal('invalid', `the message has more than ${MAX_FIELDS} fields; send tensors raw`);
  }
}

/**
 * Reads an encoded protobuf message from its start to its end, and nothing twice. It allocates nothing, and throws a
 * refusal at the first byte that makes no sense.
 */
export class ProtobufReader {
  field = 0;
  type = 0;
  /** The value of the varint that was read last: its lower and upper 32 bits, signed. */
  low = 0;
  high = 0;

  constructor(
    readonly bytes: Uint8Array<ArrayBuffer>,
    public at: number,
    readonly end: number,
    private readonly fields: FieldCount,
  ) {}

  /** Goes to the next field, whose value must then be read or skipped. False: there is none. */
  next(): boolean {
    if (this.at >= this.end) return false;
    this.fields.count();
    this.nextUncounted();
    return true;
  }

  /** The same inside the elements of a tensor, which are bounded by its shape. Only if `at` is not the end. */
  nextUncounted(): void {
    this.varint();
    this.type = this.low & 7;
    this.field = this.low >>> 3;
    if (this.field === 0 || this.high !== 0) throw malformed();
  }

  /** Reads a varint into `low` and `high`. */
  varint(): void {
    const { bytes, end } = this;
    let { at } = this;
    if (at >= end) throw malformed();
    const first = bytes[at++];
    this.low = first;
    this.high = 0;
    if (first >= 128) {
      let low = first & 127;
      let high = 0;
      let byte = 128;
      for (let shift = 7; byte >= 128; shift += 7) {
        if (at >= end || shift > 63) throw malformed();
        byte = bytes[at++];
        if (shift < 28) low |= (byte & 127) << shift;
        else if (shift === 28) {
          low |= (byte & 15) << 28;
          high = (byte & 127) >> 4;
        } else high |= (byte & 127) << (shift - 32);
      }
      this.low = low;
      this.high = high;
    }
    this.at = at;
  }

  /** Reads a length; the value lies from `at` up to what it returns. */
  span(): number {
    this.expect(LENGTH_DELIMITED);
    this.varint();
    const length = this.low >>> 0;
    if (this.high !== 0 || length > this.end - this.at) throw malformed();
    return this.at + length;
  }

  /** A reader of the nested message here. */
  message(): ProtobufReader {
    const end = this.span();
    const nested = new ProtobufReader(this.bytes, this.at, end, this.fields);
    this.at = end;
    return nested;
  }

  text(): string {
    const end = this.span();
    const text = textOf(this.bytes, this.at, end);
    this.at = end;
    return text;
  }

  /** A view. */
  data(): Uint8Array<ArrayBuffer> {
    const end = this.span();
    const data = this.bytes.subarray(this.at, end);
    this.at = end;
    return data;
  }

  boolean(): boolean {
    this.expect(VARINT);
    this.varint();
    return this.low !== 0 || this.high !== 0;
  }

  /** An int64; beyond 2^53 the nearest number there is. */
  int64(): number {
    this.expect(VARINT);
    this.varint();
    return this.high * 2 ** 32 + (this.low >>> 0);
  }

  /** An element of a packed list. */
  packedInt64(): number {
    this.fields.count();
    this.varint();
    return this.high * 2 ** 32 + (this.low >>> 0);
  }

  uint64(): number {
    this.expect(VARINT);
    this.varint();
    return (this.high >>> 0) * 2 ** 32 + (this.low >>> 0);
  }

  double(): number {
    this.expect(FIXED64);
    if (this.end - this.at < 8) throw malformed();
    const { buffer, byteOffset } = this.bytes;
    const value = new DataView(buffer, byteOffset + this.at, 8).getFloat64(0, true);
    this.at += 8;
    return value;
  }

  /** Passes over the value of a field that is not known here. */
  skip(depth = 0): void {
    switch (this.type) {
      case VARINT:
        this.varint();
        return;
      case FIXED64:
        this.advance(8);
        return;
      case LENGTH_DELIMITED:
        this.at = this.span();
        return;
      case FIXED32:
        this.advance(4);
        return;
      case GROUP_START:
        this.skipGroup(this.field, depth);
        return;
      default:
        throw malformed();
    }
  }

  /** Throws a refusal if the field here is of another wire type. */
  expect(type: number): void {
    if (this.type !== type) throw malformed();
  }

  private skipGroup(group: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) throw malformed();
    while (this.next()) {
      if (this.type === GROUP_END) {
        if (this.field !== group) throw malformed();
        return;
      }
      this.skip(depth + 1);
    }
    throw malformed();
  }

  private advance(bytes: number): void {
    if (this.end - this.at < bytes) throw malformed();
    this.at += bytes;
  }
}

export function malformed(): Refusal {
  return new Refusal('invalid', 'the message is not what open-inference.proto says');
}

function textOf({ buffer, byteOffset }: Uint8Array<ArrayBuffer>, from: number, to: number): string {
  return Buffer.from(buffer, byteOffset + from, to - from).toString();
}
