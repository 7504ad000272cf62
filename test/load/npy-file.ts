/** A file as the format's specification has it: magic, version, header padded to 64 bytes, elements. */
export function npy(descr: string, shape: string, data: Buffer, version = 1, fortran = 'False'): Buffer {
  const dict = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;
  const fixed = version === 1 ? 10 : 12;
  const padded = `${dict.padEnd(Math.ceil((fixed + dict.length + 1) / 64) * 64 - fixed - 1)}\n`;
  const head = Buffer.alloc(fixed);
  head.write('\x93NUMPY', 'latin1');
  head[6] = version;
  if (version === 1) head.writeUInt16LE(padded.length, 8);
  else head.writeUInt32LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded, 'latin1'), data]);
}
