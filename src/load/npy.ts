import { DATATYPES, type Datatype } from '../live/model.js';

/** An array of NumPy's file format. */
interface NpyArray {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Little-endian elements, row after row. */
  readonly data: Buffer;
}

const MAGIC = Buffer.from('\x93NUMPY', 'latin1');

/** NumPy's type names, without the byte order. */
const TYPES: Readonly<Record<string, Datatype>> = {
  b1: 'BOOL',
  u1: 'UINT8',
  u2: 'UINT16',
  u4: 'UINT32',
  u8: 'UINT64',
  i1: 'INT8',
  i2: 'INT16',
  i4: 'INT32',
  i8: 'INT64',
  f2: 'FP16',
  f4: 'FP32',
  f8: 'FP64',
};

/** Reads a `.npy` file (versions 1 to 3). Throws an error that states the mistake. */
export function parseNpy(file: Buffer): NpyArray {
  if (file.length < 12 || !file.subarray(0, 6).equals(MAGIC)) throw new Error('it is not an .npy file');
  const wide = (file[6] as number) > 1;
  const begin = wide ? 12 : 10;
  const headBytes = wide ? file.readUInt32LE(8) : file.readUInt16LE(8);
  const head = file.toString('latin1', begin, begin + headBytes);
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(head)?.[1];
  const shape = /'shape'\s*:\s*\(([^)]*)\)/.exec(head)?.[1];
  if (descr === undefined || shape === undefined) throw new Error('its header has no type and shape');
  const [order, type] = [descr[0] as string, descr.slice(1)];
  const datatype = TYPES[type];
  if (datatype === undefined) throw new Error(`its elements are of NumPy's type ${descr}`);
  if (order === '>')
    throw new Error(`its elements are big-endian (${descr}): store it with .astype('<${type}')`);
  const sizes = shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number(size)]));
  if (/'fortran_order'\s*:\s*True/.test(head) && sizes.length > 1)
    throw new Error('it is in column-major order: store it with numpy.ascontiguousarray');
  const data = file.subarray(begin + headBytes);
  const expected = sizes.reduce((product, size) => product * size, DATATYPES[datatype].bytes);
  if (data.length !== expected)
    throw new Error(`it contains ${data.length} bytes, but its shape [${sizes.join(',')}] needs ${expected}`);
  return { datatype, shape: sizes, data };
}
