import { OUTPUT_ELEMENTS, SMALL } from './target.js';

/** Protocol buffers and gRPC messages as bytes, also such as no library writes. */

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

/** A field of bytes, text or a message. */
export function field(number: number, content: Buffer | string): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** `count` times the same bytes. */
export function times(count: number, bytes: Buffer): Buffer {
  return Buffer.alloc(count * bytes.length, bytes);
}

/** parameters { key: "slo_ms", value { int64_param } } */
export function sloParameter(sloMs: number): Buffer {
  const value = Buffer.concat([Buffer.from([0x10]), varint(sloMs)]);
  return field(4, Buffer.concat([field(1, 'slo_ms'), field(2, value)]));
}

/** A ModelInferRequest for the small model, with what an attack adds to it, which has time. */
export function inferMessage(
  extra: readonly Buffer[] = [sloParameter(60_000)],
  tensorExtra: readonly Buffer[] = [],
): Buffer {
  const shape = Buffer.concat([varint(1), varint(SMALL.elements)]);
  const tensor = [field(1, 'input'), field(2, 'FP32'), field(3, shape), ...tensorExtra];
  const raw = Buffer.alloc(SMALL.elements * 4);
  return Buffer.concat([field(1, SMALL.name), field(5, Buffer.concat(tensor)), field(7, raw), ...extra]);
}

/** Bytes of the answer's tensor: no answer is shorter. */
export const LEAST_ANSWER_BYTES = OUTPUT_ELEMENTS * 4;

/** A message as gRPC frames it. */
export function framed(message: Buffer, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
