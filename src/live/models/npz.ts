import { inflateRawSync } from 'node:zlib';
import type { Datatype, Shape } from '../model.js';

/** An array of numpy. */
interface NumpyArray {
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly bytes: Uint8Array;
}

/**
 * Reads the arrays of an `.npz` file, a ZIP archive of `NAME.npy`
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Throws an `Error` with the reason.
 */
export function readNpz(file: Buffer): ReadonlyMap<string, NumpyArray> {
  const end = file.lastIndexOf(END_OF_DIRECTORY);
  if (end < 0) throw new Error('is not an .npz file');
  const arrays = new Map<string, NumpyArray>();
  let at = file.readUInt32LE(end + 16);
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    const [method, size] = [file.readUInt16LE(at + 10), file.readUInt32LE(at + 20)];
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => file.readUInt16LE(at + field));
    const name = file.toString('utf8', at + 46, at + 46 + nameBytes);
    const local = file.readUInt32LE(at + 42);
    const from = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const packed = file.subarray(from, from + size);
    arrays.set(name.replace(/\.npy$/, ''), readNpy(method === 0 ? packed : inflateRawSync(packed), name));
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return arrays;
}

const END_OF_DIRECTORY = Buffer.from('PK\x05\x06', 'latin1');

/** By numpy's kind and size of an element. */
const DATATYPE_OF: Readonly<Record<string, Datatype>> = {
  ...{ b1: 'BOOL', f2: 'FP16', f4: 'FP32', f8: 'FP64' },
  ...{ i1: 'INT8', i2: 'INT16', i4: 'INT32', i8: 'INT64' },
  ...{ u1: 'UINT8', u2: 'UINT16', u4: 'UINT32', u8: 'UINT64' },
};

function readNpy(file: Buffer, name: string): NumpyArray {
  const isFirst = file[6] === 1;
  const from = isFirst ? 10 : 12;
  const dataAt = from + (isFirst ? file.readUInt16LE(8) : file.readUInt32LE(8));
  const header = file.toString('latin1', from, dataAt);
  const [, type = ''] = /'descr': *'[<|=]([a-z]\d+)'/.exec(header) ?? [];
  const [, sizes] = /'shape': *\(([^)]*)\)/.exec(header) ?? [];
  const datatype = DATATYPE_OF[type];
  if (datatype === undefined || sizes === undefined || /'fortran_order': *True/.test(header))
    throw new Error(`${name} is no array of numbers in row-major, little-endian order`);
  const shape = sizes.split(',').flatMap((size) => (size.trim() === '' ? [] : Number(size)));
  return { datatype, shape, bytes: new Uint8Array(file.subarray(dataAt)) };
}
