import { fromHalf, toHalf } from '../../../live/half.js';
import { fail } from '../finding.js';
import { shown } from '../plain.js';

/** An input or output as the server's metadata describes it; −1: any size. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** A tensor with its elements, little-endian; those of BYTES each after its length in four bytes. */
export interface Tensor extends TensorMetadata {
  readonly bytes: Buffer;
}

/** The list of a gRPC message that holds elements of a type; null: there is none, they travel raw. */
type Contents = `${'bool' | 'int' | 'int64' | 'uint' | 'uint64' | 'fp32' | 'fp64' | 'bytes'}_contents`;

interface Datatype {
  /** 0: each element has a length of its own. */
  readonly bytes: number;
  readonly contents: Contents | null;
  readonly read: (bytes: Buffer, at: number) => number | bigint | boolean;
  readonly write: (bytes: Buffer, value: number, at: number) => void;
}

/** The protocol's types of elements. */
export const DATATYPES: Readonly<Record<string, Datatype>> = {
  BOOL: type(
    1,
    'bool_contents',
    (b, at) => b[at] !== 0,
    (b, v, at) => b.writeUInt8(v === 0 ? 0 : 1, at),
  ),
  UINT8: type(
    1,
    'uint_contents',
    (b, at) => b.readUInt8(at),
    (b, v, at) => b.writeUInt8(v, at),
  ),
  UINT16: type(
    2,
    'uint_contents',
    (b, at) => b.readUInt16LE(at),
    (b, v, at) => b.writeUInt16LE(v, at),
  ),
  UINT32: type(
    4,
    'uint_contents',
    (b, at) => b.readUInt32LE(at),
    (b, v, at) => b.writeUInt32LE(v, at),
  ),
  UINT64: type(
    8,
    'uint64_contents',
    (b, at) => b.readBigUInt64LE(at),
    (b, v, at) => b.writeBigUInt64LE(BigInt(v), at),
  ),
  INT8: type(
    1,
    'int_contents',
    (b, at) => b.readInt8(at),
    (b, v, at) => b.writeInt8(v, at),
  ),
  INT16: type(
    2,
    'int_contents',
    (b, at) => b.readInt16LE(at),
    (b, v, at) => b.writeInt16LE(v, at),
  ),
  INT32: type(
    4,
    'int_contents',
    (b, at) => b.readInt32LE(at),
    (b, v, at) => b.writeInt32LE(v, at),
  ),
  INT64: type(
    8,
    'int64_contents',
    (b, at) => b.readBigInt64LE(at),
    (b, v, at) => b.writeBigInt64LE(BigInt(v), at),
  ),
  FP16: type(
    2,
    null,
    (b, at) => fromHalf(b.readUInt16LE(at)),
    (b, v, at) => b.writeUInt16LE(toHalf(v), at),
  ),
  FP32: type(
    4,
    'fp32_contents',
    (b, at) => b.readFloatLE(at),
    (b, v, at) => b.writeFloatLE(v, at),
  ),
  FP64: type(
    8,
    'fp64_contents',
    (b, at) => b.readDoubleLE(at),
    (b, v, at) => b.writeDoubleLE(v, at),
  ),
  BYTES: type(
    0,
    'bytes_contents',
    () => 0,
    () => {},
  ),
};

function type(
  bytes: number,
  contents: Contents | null,
  read: Datatype['read'],
  write: Datatype['write'],
): Datatype {
  return { bytes, contents, read, write };
}

export function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Elements as JSON holds them. 64-bit integers must be small, as those of made inputs are. */
export function elementsOf({ datatype, shape, bytes }: Tensor): (number | boolean | string)[] {
  if (datatype === 'BYTES') return stringsOf(bytes).map((text) => text.toString('utf8'));
  const { bytes: size, read } = DATATYPES[datatype]!;
  return Array.from({ length: countOf(shape) }, (_, i) => {
    const value = read(bytes, i * size);
    return typeof value === 'bigint' ? Number(value) : value;
  });
}

/** The elements of a BYTES tensor. Fails where lengths and bytes do not match. */
export function stringsOf(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) fail('an element of a BYTES tensor is longer than its data');
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** Bytes of elements that came as JSON or in a gRPC list, in row-major order. Fails where one is of another type. */
export function bytesOf(name: string, datatype: string, elements: readonly unknown[]): Buffer {
  if (datatype === 'BYTES') return joinStrings(elements.map((each) => stringOf(name, each)));
  const { bytes: size, write } = DATATYPES[datatype]!;
  const bytes = Buffer.alloc(elements.length * size);
  for (const [i, element] of elements.entries()) {
    const value = Number(element);
    const isValue =
      typeof element === 'number' || typeof element === 'boolean' || typeof element === 'string';
    if (!isValue || (Number.isNaN(value) && element !== 'NaN' && !Number.isNaN(element)))
      fail(`element ${i} of ${shown(name)} is ${shown(element)}, not a value of ${datatype}`);
    try {
      write(bytes, value, i * size);
    } catch {
      fail(`element ${i} of ${shown(name)} is ${shown(element)}, which ${datatype} cannot hold`);
    }
  }
  return bytes;
}

function joinStrings(strings: readonly Buffer[]): Buffer {
  return Buffer.concat(
    strings.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      return [length, text];
    }),
  );
}

function stringOf(name: string, element: unknown): Buffer {
  if (element instanceof Uint8Array) return Buffer.from(element);
  return typeof element === 'string'
    ? Buffer.from(element)
    : fail(`${shown(name)} holds ${shown(element)}, not text`);
}
