/** Bytes before each element of a BYTES tensor: its length, little-endian. */
const PREFIX_BYTES = 4;

/** Texts as binary data of datatype BYTES. */
export function bytesOfTexts(texts: readonly string[]): Uint8Array {
  const encoded = texts.map((text) => Buffer.from(text));
  let bytes = 0;
  for (const { length } of encoded) bytes += PREFIX_BYTES + length;
  const whole = Buffer.alloc(bytes);
  let at = 0;
  for (const text of encoded) {
    at = whole.writeUInt32LE(text.length, at);
    at += text.copy(whole, at);
  }
  return whole;
}
