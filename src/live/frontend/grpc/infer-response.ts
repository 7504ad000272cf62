import { KIB } from '../../../base/units.js';
import type { ServedModel, Shape } from '../../model.js';
import { bytesOfTexts } from '../../texts.js';
import type { Call } from '../call.js';
import { classesOf } from '../classification.js';
import type { WantedOutput } from './infer-tensors.js';
import { ProtobufWriter } from './protobuf-writer.js';

/** An answer up to this size goes out in one piece. */
const ONE_PIECE_BYTES = 32 * KIB;
const PREFIX_BYTES = 5;

// Responses are written one at a time.
const head = new ProtobufWriter();
const announcement = new ProtobufWriter();

/** One output of a response. */
interface Output {
  readonly name: string;
  readonly datatype: string;
  readonly shape: Shape;
  /** Of all rows, one after the other. */
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
}

/**
 * The ModelInferResponse to a call with the prefix of a gRPC message, in pieces; `isStreamed`: within a
 * ModelStreamInferResponse. Large tensors are not copied. Throws a refusal for an output that has no classes.
 */
export function inferResponse(
  call: Call,
  model: ServedModel,
  id: string,
  wanted: readonly WantedOutput[],
  isStreamed = false,
): Uint8Array[] {
  const outputs: Output[] = [];
  for (const output of wanted) outputs.push(outputOf(call, model, output));
  writeHead(call, model, id, outputs);
  let bytes = head.length;
  for (const output of outputs) bytes += announcementOf(RAW, output.bytes).length + output.bytes;
  const outer = isStreamed ? Buffer.from(announcementOf(INFER_RESPONSE, bytes)) : NOTHING;
  return bytes <= ONE_PIECE_BYTES ? [joined(outer, bytes, outputs)] : pieces(outer, bytes, outputs);
}

/** A small message as one piece with the prefix of gRPC. */
export function framed(message: Uint8Array): Uint8Array {
  const piece = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  writePrefix(piece, message.length);
  piece.set(message, PREFIX_BYTES);
  return piece;
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

function outputOf(call: Call, { signature, labels }: ServedModel, { index, classes }: WantedOutput): Output {
  const { name, datatype } = signature.outputs[index];
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const { outputs } of call.answers) {
    parts.push(outputs[index]);
    bytes += outputs[index].length;
  }
  if (classes === 0) return { name, datatype, shape: call.shapeOf(index, signature), parts, bytes };
  const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, parts, classes);
  const each = texts.length / call.count;
  const tensor = bytesOfTexts(texts);
  const shape = signature.batched ? [call.count, each] : [each];
  return { name, datatype: 'BYTES', shape, parts: [tensor], bytes: tensor.length };
}

function writeHead(call: Call, { spec, version }: ServedModel, id: string, outputs: readonly Output[]): void {
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
  for (const { name, datatype, shape } of outputs) {
    const output = head.begin(5);
    head.text(1, name);
    head.text(2, datatype);
    head.int64s(3, shape);
    head.end(output);
  }
}

function joined(outer: Uint8Array, bytes: number, outputs: readonly Output[]): Buffer {
  const piece = Buffer.allocUnsafe(PREFIX_BYTES + outer.length + bytes);
  let at = begin(piece, outer, bytes);
  for (const { parts, bytes: size } of outputs) {
    const before = announcementOf(RAW, size);
    piece.set(before, at);
    at += before.length;
    for (const part of parts) {
      piece.set(part, at);
      at += part.length;
    }
  }
  return piece;
}

function pieces(outer: Uint8Array, bytes: number, outputs: readonly Output[]): Uint8Array[] {
  const first = Buffer.allocUnsafe(PREFIX_BYTES + outer.length + head.length);
  begin(first, outer, bytes);
  const list: Uint8Array[] = [first];
  for (const { parts, bytes: size } of outputs) {
    list.push(Buffer.from(announcementOf(RAW, size)));
    for (const part of parts) list.push(part);
  }
  return list;
}

/** Writes all but the tensors, and returns where they go. */
function begin(piece: Buffer, outer: Uint8Array, bytes: number): number {
  writePrefix(piece, outer.length + bytes);
  piece.set(outer, PREFIX_BYTES);
  piece.set(head.written, PREFIX_BYTES + outer.length);
  return PREFIX_BYTES + outer.length + head.length;
}

function announcementOf(field: number, bytes: number): Uint8Array {
  announcement.clear();
  announcement.announce(field, bytes);
  return announcement.written;
}

function writePrefix(piece: Buffer, length: number): void {
  piece[0] = 0;
  piece.writeUInt32BE(length, 1);
}

/** Field of a ModelStreamInferResponse. */
const INFER_RESPONSE = 2;
/** Field of raw_output_contents. */
const RAW = 6;
const NOTHING = new Uint8Array(0);
