import { KIB } from '../../base/units.js';
import { bytesAtLength } from '../lengths.js';
import type { ModelSignature, ServedModel } from '../model.js';
import { bytesOfTexts } from '../texts.js';
import type { Call, CallSink } from './call.js';
import { classesOf } from './classification.js';
import { ownBuffers } from './codec/own-buffers.js';
import { mostAnswerBytes } from './frontend.js';
import { type AnswerOutput, type AnswerText, answerBound, answerText } from './http-answer.js';
import { acceptedEncoding } from './http-headers.js';
import type { InferBody, WantedOutput } from './http-infer-body.js';
import { sendBinary, sendEncodedJson, sendJson, sendRefusal } from './http-reply.js';
import { hasLeft, type OpenRequest } from './open-request.js';
import { asRefusal, Refusal } from './refusal.js';

/** Outputs of more than this become JSON in a codec thread. */
const INLINE_BYTES = 64 * KIB;
/** Outputs of more than this are compressed as JSON, where the client accepts that. */
const COMPRESSED_BYTES = 4 * KIB;

/** A client that waits for the answer to its call. */
export class HttpExchange implements CallSink {
  private readonly id: string | null;
  private readonly outputs: readonly WantedOutput[];

  constructor(
    private readonly request: OpenRequest,
    private readonly model: ServedModel,
    { id, outputs }: InferBody,
    /** What the answer was expected to take at most. */
    private readonly expectedBytes: number,
  ) {
    this.id = id;
    this.outputs = outputs;
  }

  answered(call: Call): void {
    const refusal = call.refusal();
    if (refusal !== null) {
      const { site, headers } = this.request;
      site.overRate.note(site.tenants.of(headers), refusal, site.service.nowNs());
      sendRefusal(this.request, refusal);
      return;
    }
    try {
      this.send(call);
    } catch (error) {
      sendRefusal(this.request, asRefusal(error));
    }
  }

  private send(call: Call): void {
    const { request, model } = this;
    const tensors: Uint8Array[] = [];
    const outputs: AnswerOutput[] = [];
    let jsonBytes = 0;
    let bound = 0;
    for (const wanted of this.outputs) {
      const output =
        wanted.classes > 0 ? this.classes(wanted, call, tensors) : this.output(wanted, call, tensors);
      if (output.data !== null) jsonBytes += output.bytes;
      bound += boundOf(output);
      outputs.push(output);
    }
    // Sizes that the model chose.
    if (bound > this.expectedBytes) this.checkSize(bound);
    const answer: AnswerText = {
      id: this.id,
      name: model.spec.name,
      version: model.version,
      batchSize: call.batchSize,
      sloMet: call.sloMet,
      outputs,
    };
    const compression =
      jsonBytes > COMPRESSED_BYTES && tensors.length === 0 ? acceptedEncoding(request) : null;
    if (jsonBytes > INLINE_BYTES || compression !== null) {
      const own = { ...answer, outputs: outputs.map(withOwnData) };
      const waiting = new Encoding(request, tensors, compression);
      const moving = ownBuffers(own.outputs.flatMap(({ data }) => data ?? []));
      const { codec, tenants } = request.site;
      codec.run('encodeAnswer', { answer: own, compression }, moving, tenants.turnOf(request), waiting);
    } else if (tensors.length === 0) sendJson(request, 200, answerText(answer));
    else sendBinary(request, Buffer.from(answerText(answer)), tensors);
  }

  private checkSize(bound: number): void {
    const { request } = this;
    checkAnswerSize(bound, mostAnswerBytes(request.site.settings));
    const refusal = request.hold(bound);
    if (refusal !== null) throw refusal;
  }

  /** One output; its data goes into `tensors` if it was wanted as binary data. */
  private output({ index, binary }: WantedOutput, call: Call, tensors: Uint8Array[]): AnswerOutput {
    const { signature } = this.model;
    const { name, datatype } = signature.outputs[index];
    const parts = binary ? tensors : [];
    let bytes = 0;
    for (const { outputs } of call.answers) {
      parts.push(outputs[index]);
      bytes += outputs[index].length;
    }
    return { name, datatype, shape: call.shapeOf(index, signature), data: binary ? null : parts, bytes };
  }

  /** The names of an output's largest elements. */
  private classes({ index, binary, classes }: WantedOutput, call: Call, tensors: Uint8Array[]): AnswerOutput {
    const { signature, labels } = this.model;
    const { name, datatype } = signature.outputs[index];
    const rows = call.answers.map(({ outputs }) => outputs[index]);
    const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, rows, classes);
    const each = texts.length / call.count;
    const shape = signature.batched ? [call.count, each] : [each];
    const tensor = bytesOfTexts(texts);
    if (binary) tensors.push(tensor);
    return { name, datatype: 'BYTES', shape, data: binary ? null : [tensor], bytes: tensor.length };
  }
}

/** The same with tensors that can move to another thread: what is part of a larger buffer is copied. */
function withOwnData(output: AnswerOutput): AnswerOutput {
  if (output.data === null) return output;
  return { ...output, data: output.data.map(own) };
}

function own(tensor: Uint8Array): Uint8Array {
  return tensor.length === tensor.buffer.byteLength ? tensor : new Uint8Array(tensor);
}

/** An answer that becomes JSON elsewhere. */
class Encoding {
  constructor(
    private readonly request: OpenRequest,
    private readonly tensors: readonly Uint8Array[],
    private readonly compression: string | null,
  ) {}

  get isGone(): boolean {
    return hasLeft(this.request);
  }

  coded(text: Uint8Array): void {
    const { request, tensors } = this;
    if (tensors.length === 0) sendEncodedJson(request, text, this.compression);
    else sendBinary(request, text, tensors);
  }

  notCoded(refusal: Refusal): void {
    sendRefusal(this.request, refusal);
  }
}

/**
 * Most bytes that an answer can take; free sizes count as 1, as they are not known yet. Throws a refusal if that is more
 * than `limitBytes`.
 */
export function outputsBound(
  { outputs: signatures }: ModelSignature,
  { outputs, count, length }: InferBody,
  limitBytes: number,
): number {
  let bound = 0;
  for (const { index, binary } of outputs) {
    const { datatype, bytes } = signatures[index];
    const own = length > 0 ? bytesAtLength(signatures[index], length) : bytes;
    bound += count * answerBound(datatype, own, binary);
  }
  checkAnswerSize(bound, limitBytes);
  return bound;
}

function boundOf({ datatype, data, bytes }: AnswerOutput): number {
  return answerBound(datatype, bytes, data === null);
}

function checkAnswerSize(bound: number, limitBytes: number): void {
  if (bound <= limitBytes) return;
  throw new Refusal(
    'tooLarge',
    `the answer could have ${bound} bytes, of at most ${limitBytes}: ask for fewer outputs or a smaller batch, or for binary data`,
  );
}
