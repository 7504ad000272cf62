/** Writes a small protobuf message, from its first field to its last. The bytes are those that other encoders write. */
export class ProtobufWriter {
  private bytes = Buffer.allocUnsafeSlow(1024);
  length = 0;

  /** Starts an empty message. */
  clear(): void {
    this.length = 0;
  }

  /** A view of what was written, until the next `clear`. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  boolean(field: number, value: boolean): void {
    this.tag(field, VARINT);
    this.varint(value ? 1 : 0);
  }

  /** A safe integer. */
  int64(field: number, value: number): void {
    this.tag(field, VARINT);
    this.varint(value);
  }

  text(field: number, text: string): void {
    this.tag(field, LENGTH_DELIMITED);
    const size = Buffer.byteLength(text);
    this.varint(size);
    this.reserve(size);
    this.length += this.bytes.write(text, this.length);
  }

  /** A list of safe integers, packed. */
  int64s(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const start = this.begin(field);
    for (const value of values) this.varint(value);
    this.end(start);
  }

  /** Announces a field of that many bytes, which follow. */
  announce(field: number, bytes: number): void {
    this.tag(field, LENGTH_DELIMITED);
    this.varint(bytes);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Begins a nested message; what it returns goes to `end`. */
  begin(field: number): number {
    this.tag(field, LENGTH_DELIMITED);
    // Room for the length of a short one.
    this.reserve(1);
    return this.length++ + 1;
  }

  end(start: number): void {
    const size = this.length - start;
    const sizeBytes = varintBytes(size);
    this.reserve(sizeBytes);
    if (sizeBytes > 1) this.bytes.copyWithin(start + sizeBytes - 1, start, this.length);
    this.length = start - 1;
    this.varint(size);
    this.length += size;
  }

  private tag(field: number, type: number): void {
    this.varint(field * 8 + type);
  }

  private varint(value: number): void {
    this.reserve(10);
    const { bytes } = this;
    let low = value >>> 0;
    // Of a negative number, the upper half of its two's complement.
    let high = Math.floor(value / 2 ** 32) >>> 0;
    while (high > 0 || low > 127) {
      bytes[this.length++] = (low & 127) | 128;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    bytes[this.length++] = low;
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Bytes of a length as a varint. */
function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;
