import { describe, expect, it } from 'vitest';
import { parseNpy } from '../../src/load/npy.js';
import { npy } from './npy-file.js';

const FLOATS = Buffer.from(new Float32Array([1.5, -2, 3, 4, 5, 6]).buffer);

describe('a .npy file', () => {
  it.each([1, 2, 3])('of version %i is read', (version) => {
    const { datatype, shape, data } = parseNpy(npy('<f4', '(2, 3)', FLOATS, version));
    expect([datatype, shape]).toEqual(['FP32', [2, 3]]);
    expect(data.equals(FLOATS)).toBe(true);
  });

  it.each([
    ['<i8', '(1,)', 8, 'INT64', [1]],
    ['|b1', '(2, 1, 2)', 4, 'BOOL', [2, 1, 2]],
    ['<f2', '()', 2, 'FP16', []],
    ['|u1', '(0, 3)', 0, 'UINT8', [0, 3]],
  ])('of %s %s is read', (descr, shape, bytes, datatype, sizes) => {
    expect(parseNpy(npy(descr, shape, Buffer.alloc(bytes)))).toMatchObject({ datatype, shape: sizes });
  });

  it.each([
    [Buffer.from('PK\x03\x04 an .npz file'), 'it is not an .npy file'],
    [npy('>f4', '(2, 3)', FLOATS), "big-endian (>f4): store it with .astype('<f4')"],
    [npy('<c8', '(1,)', FLOATS), "NumPy's type <c8"],
    [npy('<f4', '(2, 3)', FLOATS, 1, 'True'), 'column-major'],
    [npy('<f4', '(2, 4)', FLOATS), 'it contains 24 bytes, but its shape [2,4] needs 32'],
  ])('is refused with the reason (%#)', (file, reason) => {
    expect(() => parseNpy(file)).toThrow(reason);
  });
});
