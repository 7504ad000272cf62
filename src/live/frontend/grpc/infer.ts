import type { ServerDuplexStream } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { DATATYPES, type Datatype, type ServedModel } from '../../model.js';
import { ApiError, asApiError, cancelled, shown } from '../api-error.js';
import { answerOf, Call } from '../call.js';
import { readInference, type TensorReader } from '../inference.js';
import { bufferBytes, bytesOfElements, type Json } from '../json.js';
import { MOST_CONTROL_BYTES, MOST_STREAMED, MOST_TENSORS } from '../limits.js';
import type { Site } from '../site.js';
import { PROTOCOL_FILE } from './protocol.js';
import type { Rpc } from './rpc.js';

/** Outcome of a request. */
interface Answered {
  readonly id: string;
  readonly response: object | ApiError;
  /** Bytes of its tensors, for which memory is reserved. */
  readonly bytes: number;
}

/** ModelInfer and ModelStreamInfer: from their messages to the service and back. */
export class GrpcInfer {
  constructor(private readonly site: Site) {}

  /** Rejects with an `ApiError`. */
  async unary(bytes: Uint8Array, rpc: Rpc): Promise<object> {
    const answered = await this.ask(bytes, rpc, rpc.arrivalNs);
    if (answered.response instanceof ApiError) throw answered.response;
    rpc.responds();
    return answered.response;
  }

  /** One response for each request, in their order. A request that fails is answered too, and the stream goes on. */
  stream(call: ServerDuplexStream<Uint8Array, object>, rpc: Rpc): void {
    let last = Promise.resolve();
    const answer = async (bytes: Uint8Array, before: Promise<void>) => {
      // It may move to the thread that schedules.
      const { length } = bytes;
      const answered = await this.ask(bytes, rpc, this.site.service.nowNs());
      await before;
      await send(call, rpc, answered);
      rpc.hold(-length);
      rpc.finish();
      call.resume();
    };
    call.on('data', (bytes: Uint8Array) => {
      rpc.underWay++;
      if (rpc.underWay === MOST_STREAMED) call.pause();
      last = answer(bytes, last);
    });
    call.on('end', () => {
      // A server that closes leaves it to this to end the call.
      rpc.underWay++;
      void last.then(() => call.end());
    });
  }

  private async ask(bytes: Uint8Array, rpc: Rpc, arrivalNs: number): Promise<Answered> {
    const { service, settings, catalog, tenantOf, apiErrors } = this.site;
    let [id, label, decodedBytes] = ['', 0, 0];
    let model: ServedModel;
    let call: Call;
    try {
      const message = readInferMessage(bytes);
      id = message.id;
      if (service.state.takesOver === true) await service.takeOver();
      const entry = catalog.find(message.model_name, message.model_version);
      label = entry.label ?? 0;
      model = catalog.ready(entry);
      const { parameters, inputs, outputs } = message;
      const asked = readInference(
        { id, parameters, inputs, outputs: outputs.length === 0 ? null : outputs },
        model,
        settings,
        contentsReader(message, settings.maxJsonBytes),
      );
      if (rpc.isOver) throw cancelled();
      // Typed contents take more than in their message.
      const moreBytes = Math.max(0, bufferBytes(asked.inputs) - bytes.length);
      rpc.hold(moreBytes);
      decodedBytes = moreBytes;
      call = await new Promise<Call>((answered) => {
        const submitted = new Call(asked, rpc.connection.account, answered);
        submitted.submit(service, {
          model: entry.index,
          arrivalNs,
          untilNs: rpc.untilNs,
          tenant: tenantOf((header) => rpc.header(header)),
          trace: rpc.trace,
        });
        rpc.calls.add(submitted);
      });
    } catch (error) {
      const apiError = asApiError(error);
      if (!rpc.isOver) apiErrors.add(apiError.kind, label);
      return { id, response: apiError, bytes: 0 };
    } finally {
      rpc.hold(-decodedBytes);
    }
    rpc.calls.delete(call);
    try {
      const answered = responseTo(call, model);
      rpc.hold(answered.bytes);
      return { id, ...answered };
    } catch (error) {
      return { id, response: asApiError(error), bytes: 0 };
    }
  }
}

/** A ModelInferResponse, in the names of the protocol. Throws the `ApiError` of a failed call. */
function responseTo(call: Call, model: ServedModel): Omit<Answered, 'id'> {
  const { id, name, version, batchSize, sloMet, outputs } = answerOf(call, model);
  const response = {
    model_name: name,
    model_version: version,
    id,
    parameters: { batch_size: { int64_param: batchSize }, slo_met: { bool_param: sloMet } },
    outputs,
    raw_output_contents: outputs.map(({ parts }) => (parts.length === 1 ? parts[0] : Buffer.concat(parts))),
  };
  return { response, bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Resolves when the response has left. */
function send(
  call: ServerDuplexStream<Uint8Array, object>,
  rpc: Rpc,
  { id, response, bytes }: Answered,
): Promise<void> {
  const message =
    response instanceof ApiError
      ? { error_message: response.message, infer_response: { id } }
      : { infer_response: response };
  rpc.responds();
  return new Promise((resolve) => {
    call.write(message, () => {
      rpc.sent(bytes);
      resolve();
    });
  });
}

const protocol = new protobuf.Root().loadSync(PROTOCOL_FILE, { keepCase: true });
const REQUEST = protocol.lookupType('inference.ModelInferRequest');
const CONTENTS = protocol.lookupType('inference.InferTensorContents');
const INPUT = REQUEST.lookupType('InferInputTensor');
const INPUTS_FIELD = REQUEST.fields.inputs.id;
const OUTPUTS_FIELD = REQUEST.fields.outputs.id;
const RAW_FIELD = REQUEST.fields.raw_input_contents.id;
const CONTENTS_FIELD = INPUT.fields.contents.id;
// They stay bytes until datatype and shape are known. Parts of one field have some of the elements each.
INPUT.remove(INPUT.fields.contents).add(new protobuf.Field('contents', CONTENTS_FIELD, 'bytes', 'repeated'));

interface InferOutput {
  readonly name: string;
  parameters: Json;
}

interface InferInput extends InferOutput {
  readonly datatype: string;
  shape: readonly number[];
  readonly contents: readonly Uint8Array[];
}

/** A ModelInferRequest. Contents are views of its bytes. */
interface InferMessage {
  readonly model_name: string;
  readonly model_version: string;
  readonly id: string;
  parameters: Json;
  readonly inputs: readonly InferInput[];
  readonly outputs: readonly InferOutput[];
  readonly raw_input_contents: readonly Uint8Array[];
}

/** Decodes a ModelInferRequest without the elements of its tensors. Throws an `ApiError`. */
export function readInferMessage(bytes: Uint8Array): InferMessage {
  try {
    checkParts(bytes);
    const message = REQUEST.decode(bytes) as unknown as InferMessage;
    for (const part of [message, ...message.inputs, ...message.outputs])
      part.parameters = valuesOf(part.parameters);
    for (const input of message.inputs) input.shape = input.shape.map(Number);
    return message;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError('invalid', `the message is malformed: ${(error as Error).message}`);
  }
}

/** Throws an `ApiError` if a message has more than a few parts besides elements: each takes memory, however short it is. */
function checkParts(bytes: Uint8Array): void {
  const reader = protobuf.Reader.create(bytes);
  let [elementBytes, tensors] = [0, 0];
  const pass = (end: number, elementField: number) => {
    while (reader.pos < end) {
      const tag = reader.uint32();
      const field = tag >>> 3;
      const isTensor = elementField === RAW_FIELD && (field === INPUTS_FIELD || field === OUTPUTS_FIELD);
      if (isTensor && ++tensors > MOST_TENSORS)
        throw new ApiError('tooLarge', `the message names more than ${MOST_TENSORS} inputs and outputs`);
      if (field === elementField) {
        const length = reader.uint32();
        reader.skip(length);
        elementBytes += length;
      } else if (isTensor && field === INPUTS_FIELD) pass(reader.uint32() + reader.pos, CONTENTS_FIELD);
      else reader.skipType(tag & 7);
      if (reader.pos - elementBytes > MOST_CONTROL_BYTES)
        throw new ApiError(
          'tooLarge',
          `the message has more than ${MOST_CONTROL_BYTES} bytes besides the elements of its tensors`,
        );
    }
  };
  pass(reader.len, RAW_FIELD);
}

/** Values of InferParameters, by name; null: the client sent none. */
function valuesOf(parameters: Json): Json {
  const values = Object.entries(parameters).map(([name, parameter]) => {
    const given = parameter as Record<string, unknown> | null;
    const value = given?.[given.parameter_choice as string] ?? null;
    // Those of 64 bits are objects.
    return [name, typeof value === 'object' && value !== null ? Number(value) : value];
  });
  return Object.fromEntries(values);
}

/** Reads the inputs of a message, in their order. Throws an `ApiError`. */
function contentsReader(
  { inputs, raw_input_contents: raw }: InferMessage,
  mostTypedBytes: number,
): TensorReader {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new ApiError(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  let nth = 0;
  return (input, { name, datatype, bytes }) => {
    const parts = input.contents as readonly Uint8Array[];
    if (raw.length === 0) {
      const count = bytes / DATATYPES[datatype].bytes;
      return bytesOfContents({ name, datatype, count, parts }, mostTypedBytes);
    }
    // MLServer's client sends an empty message next to raw contents.
    if (parts.some(({ length }) => length > 0))
      throw new ApiError('invalid', `input ${shown(name)}: has both contents and raw_input_contents`);
    return raw[nth++];
  };
}

/** A tensor with its elements in the typed lists of a message. */
interface TypedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Elements of its shape. */
  readonly count: number;
  /** InferTensorContents, in parts that have some of the elements each, one after the other. */
  readonly parts: readonly Uint8Array[];
}

/**
 * Reads typed contents into the bytes of a tensor. Throws an `ApiError` unless there are exactly as many elements as its
 * shape has, in the list that its datatype goes into, and in at most `mostBytes`.
 */
export function bytesOfContents(
  { name, datatype, count, parts }: TypedTensor,
  mostBytes: number,
): Uint8Array {
  const refuse = (why: string) => new ApiError('invalid', `input ${shown(name)}: ${why}`);
  const list = LISTS[datatype];
  if (list === undefined) throw refuse(`${datatype} must be sent in raw_input_contents`);
  const bytes = Buffer.concat(parts);
  if (bytes.length > mostBytes) {
    const limit = `typed contents may take ${mostBytes} bytes`;
    throw new ApiError('tooLarge', `input ${shown(name)}: ${limit}; send raw_input_contents instead`);
  }
  try {
    if (datatype === 'BYTES') return textsOf(bytes, count);
    const { [list]: elements, ...others } = CONTENTS.decode(bytes) as unknown as Record<string, never[]>;
    for (const other in others)
      if (others[other].length > 0) throw new Error(`expected ${list}, got ${other}`);
    if (elements.length !== count) throw wrongCount(count, list, elements.length);
    if (datatype === 'FP32') return new Uint8Array(Float32Array.from(elements).buffer);
    if (datatype === 'FP64') return new Uint8Array(Float64Array.from(elements).buffer);
    return DATATYPES[datatype].bytes === 8 ? longs(elements) : bytesOfElements(name, datatype, elements);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw refuse((error as Error).message);
  }
}

function longs(elements: readonly { readonly low: number; readonly high: number }[]): Uint8Array {
  const words = new Int32Array(2 * elements.length);
  for (const [i, { low, high }] of elements.entries()) {
    words[2 * i] = low;
    words[2 * i + 1] = high;
  }
  return new Uint8Array(words.buffer);
}

/** Elements of BYTES with length prefixes. Decoded all at once, empty ones would take a hundred times their bytes. */
function textsOf(bytes: Buffer, count: number): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  // Each has two bytes at least.
  const tensor = Buffer.allocUnsafeSlow(bytes.length + LENGTH_BYTES * Math.min(count, bytes.length / 2));
  let [texts, at] = [0, 0];
  for (; reader.pos < reader.len && texts < count; texts++) {
    if (reader.uint32() !== BYTES_ELEMENT) throw new Error('expected bytes_contents, got another list');
    const text = reader.bytes();
    at = tensor.writeUInt32LE(text.length, at);
    tensor.set(text, at);
    at += text.length;
  }
  const left = reader.pos < reader.len ? 1 : 0;
  if (texts + left !== count) throw wrongCount(count, 'bytes_contents', texts + left);
  return tensor.subarray(0, at);
}

function wrongCount(count: number, list: string, got: number): Error {
  return new Error(`expected ${count} elements in ${list}, got ${got > count ? 'more' : got}`);
}

/** Bytes of the length before each BYTES element of a tensor. */
const LENGTH_BYTES = 4;
/** Tag of an element of bytes_contents: field 8, with a length. */
const BYTES_ELEMENT = 0x42;

/** The list that a datatype goes into. */
const LISTS: Readonly<Partial<Record<Datatype, string>>> = {
  ...{ BOOL: 'bool_contents', INT8: 'int_contents', INT16: 'int_contents', INT32: 'int_contents' },
  ...{ INT64: 'int64_contents', UINT8: 'uint_contents', UINT16: 'uint_contents', UINT32: 'uint_contents' },
  ...{ UINT64: 'uint64_contents', FP32: 'fp32_contents', FP64: 'fp64_contents', BYTES: 'bytes_contents' },
};
