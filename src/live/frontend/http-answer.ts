import type { Datatype, Shape } from '../model.js';
import { DATATYPES } from '../model.js';
import { type Compression, deflate } from './codec/inflate.js';
import type { JobResult } from './codec/job-result.js';
import { ownBuffers } from './codec/own-buffers.js';
import { jsonOfBytes } from './json-text.js';

/** One output of an answer. */
export interface AnswerOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Its data, requests one after the other; null: it follows as binary data. */
  readonly data: readonly Uint8Array[] | null;
  readonly bytes: number;
}

/** What the JSON of an answer says. Plain data. */
export interface AnswerText {
  readonly id: string | null;
  readonly name: string;
  readonly version: string;
  readonly batchSize: number;
  readonly sloMet: boolean;
  readonly outputs: readonly AnswerOutput[];
}

/** The JSON of an answer. */
export function answerText(answer: AnswerText): string {
  const text = new Text();
  writeAnswer(answer, text);
  return text.whole;
}

interface EncodeTask {
  readonly answer: AnswerText;
  readonly compression: Compression | null;
}

/** The same for large ones, in a codec thread, which makes it one piece after the other. */
export function encodeAnswerJob({ answer, compression }: EncodeTask): JobResult<Uint8Array> {
  const text = new LongText();
  writeAnswer(answer, text);
  const whole = text.finish();
  const value = compression === null ? whole : deflate(compression, whole);
  return { value, transfer: ownBuffers([value]) };
}

interface Sink {
  put(text: string): void;
}

function writeAnswer({ id, name, version, batchSize, sloMet, outputs }: AnswerText, sink: Sink): void {
  sink.put(
    `{${id === null ? '' : `"id":${JSON.stringify(id)},`}"model_name":${JSON.stringify(name)},"model_version":${JSON.stringify(version)},"parameters":{"batch_size":${batchSize},"slo_met":${sloMet}},"outputs":[`,
  );
  for (let i = 0; i < outputs.length; i++) writeOutput(outputs[i], i === 0 ? '' : ',', sink);
  sink.put(']}');
}

function writeOutput({ name, datatype, shape, data, bytes }: AnswerOutput, before: string, sink: Sink): void {
  const head = `${before}{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape.join(',')}]`;
  if (data === null) {
    sink.put(`${head},"parameters":{"binary_data_size":${bytes}}}`);
    return;
  }
  sink.put(`${head},"data":[`);
  let between = '';
  for (const part of data) {
    // Texts are of any length.
    const piece = datatype === 'BYTES' ? part.length : PIECE_ELEMENTS * DATATYPES[datatype].bytes;
    for (let at = 0; at < part.length; at += piece) {
      sink.put(between + jsonOfBytes(datatype, part.subarray(at, at + piece)));
      between = ',';
    }
  }
  sink.put(']}');
}

const PIECE_ELEMENTS = 8192;

class Text implements Sink {
  whole = '';

  put(text: string): void {
    this.whole += text;
  }
}

class LongText implements Sink {
  private readonly pieces: Buffer[] = [];

  put(text: string): void {
    this.pieces.push(Buffer.from(text));
  }

  finish(): Uint8Array<ArrayBuffer> {
    let bytes = 0;
    for (const piece of this.pieces) bytes += piece.length;
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const piece of this.pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

/**
 * Most bytes that the outputs take in an answer, known before it is built: numbers in JSON are counted as the longest
 * that their type can have.
 */
export function answerBound(datatype: Datatype, bytes: number, binary: boolean): number {
  if (datatype === 'BYTES') return binary ? bytes : bytes * LONGEST_ESCAPE;
  return binary ? bytes : (bytes / DATATYPES[datatype].bytes) * (LONGEST[datatype] + 1);
}

/** A control character is six in JSON. */
const LONGEST_ESCAPE = 6;
const LONGEST: Readonly<Record<Exclude<Datatype, 'BYTES'>, number>> = {
  BOOL: 5,
  UINT8: 3,
  UINT16: 5,
  UINT32: 10,
  UINT64: 20,
  INT8: 4,
  INT16: 6,
  INT32: 11,
  INT64: 20,
  // "-0.00006103515625", "-1.2345678901234567e-308".
  FP16: 24,
  FP32: 24,
  FP64: 24,
};
