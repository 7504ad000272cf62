import { KIB } from '../../../base/units.js';
import type { ServedModel } from '../../model.js';
import type { Call } from '../call.js';
import { ProtobufWriter } from './protobuf-writer.js';

/** An answer up to this size goes out in one piece. */
const ONE_PIECE_BYTES = 32 * KIB;
const PREFIX_BYTES = 5;

const head = new ProtobufWriter();
const rawHead = new ProtobufWriter();

/**
 * The ModelInferResponse to a call with the prefix of a gRPC message, in pieces; `isStreamed`: within a
 * ModelStreamInferResponse. Large tensors are not copied.
 */
export function inferResponse(
  call: Call,
  model: ServedModel,
  id: string,
  outputs: readonly number[],
  isStreamed = false,
): Uint8Array[] {
  writeHead(call, model, id, outputs);
  const tensors: (readonly Uint8Array[])[] = [];
  let bytes = head.length;
  for (const index of outputs) {
    const parts: Uint8Array[] = [];
    let size = 0;
    for (const answer of call.answers) {
      parts.push(answer.outputs[index]);
      size += answer.outputs[index].length;
    }
    bytes += announcementOf(RAW, size).length + size;
    tensors.push(parts);
  }
  const outer = isStreamed ? Buffer.from(announcementOf(INFER_RESPONSE, bytes)) : NOTHING;
  return bytes <= ONE_PIECE_BYTES ? [joined(outer, bytes, tensors)] : pieces(outer, bytes, tensors);
}

/** A small message as one piece with the prefix of gRPC. */
export function framed(message: Uint8Array): Uint8Array {
  const piece = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  writePrefix(piece, message.length);
  piece.set(message, PREFIX_BYTES);
  return piece;
}

function writeHead(
  call: Call,
  { spec, version, signature }: ServedModel,
  id: string,
  outputs: readonly number[],
): void {
  head.clear();
  head.text(1, spec.name);
  head.text(2, version);
  if (id !== '') head.text(3, id);
  const batch = head.begin(4);
  head.text(1, 'batch_size');
  const size = head.begin(2);
  head.int64(2, call.batchSize);
  head.end(size);
  head.end(batch);
  const met = head.begin(4);
  head.text(1, 'slo_met');
  const value = head.begin(2);
  head.boolean(1, call.sloMet);
  head.end(value);
  head.end(met);
  for (const index of outputs) {
    const { name, datatype } = signature.outputs[index];
    const output = head.begin(5);
    head.text(1, name);
    head.text(2, datatype);
    head.int64s(3, call.shapeOf(index, signature));
    head.end(output);
  }
}

function joined(outer: Uint8Array, bytes: number, tensors: readonly (readonly Uint8Array[])[]): Buffer {
  const piece = Buffer.allocUnsafe(PREFIX_BYTES + outer.length + bytes);
  writePrefix(piece, outer.length + bytes);
  piece.set(outer, PREFIX_BYTES);
  let at = PREFIX_BYTES + outer.length;
  piece.set(head.written, at);
  at += head.length;
  for (const parts of tensors) {
    const announcement = announcementOf(RAW, sizeOf(parts));
    piece.set(announcement, at);
    at += announcement.length;
    for (const part of parts) {
      piece.set(part, at);
      at += part.length;
    }
  }
  return piece;
}

function pieces(outer: Uint8Array, bytes: number, tensors: readonly (readonly Uint8Array[])[]): Uint8Array[] {
  const first = Buffer.allocUnsafe(PREFIX_BYTES + outer.length + head.length);
  writePrefix(first, outer.length + bytes);
  first.set(outer, PREFIX_BYTES);
  first.set(head.written, PREFIX_BYTES + outer.length);
  const list: Uint8Array[] = [first];
  for (const parts of tensors) {
    list.push(Buffer.from(announcementOf(RAW, sizeOf(parts))));
    for (const part of parts) list.push(part);
  }
  return list;
}

function sizeOf(parts: readonly Uint8Array[]): number {
  let size = 0;
  for (const part of parts) size += part.length;
  return size;
}

function announcementOf(field: number, bytes: number): Uint8Array {
  rawHead.clear();
  rawHead.announce(field, bytes);
  return rawHead.written;
}

function writePrefix(piece: Buffer, length: number): void {
  piece[0] = 0;
  piece.writeUInt32BE(length, 1);
}

/** A ModelStreamInferResponse that says why a request failed, with its id. */
export function streamRefusal(message: string, id: string): Uint8Array {
  head.clear();
  head.text(1, message);
  if (id !== '') {
    const response = head.begin(INFER_RESPONSE);
    head.text(3, id);
    head.end(response);
  }
  return head.written;
}

/** Field of a ModelStreamInferResponse. */
const INFER_RESPONSE = 2;
/** Field of raw_output_contents. */
const RAW = 6;
const NOTHING = new Uint8Array(0);
