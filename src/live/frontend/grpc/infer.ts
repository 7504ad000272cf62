import { KIB } from '../../../base/units.js';
import { DATATYPES, type ModelSignature, type ServedModel } from '../../model.js';
import type { InferenceService } from '../../service.js';
import { Call, type CallSink } from '../call.js';
import type { Catalog } from '../catalog.js';
import type { CodecPool } from '../codec/codec-pool.js';
import type { FrontendSettings } from '../frontend.js';
import { InputSet } from '../inputs.js';
import { outputIndex } from '../outputs.js';
import { asRefusal, Refusal, shown } from '../refusal.js';
import { requestSloNs } from '../slo.js';
import { bytesOfContents, type TypedTensor } from './contents.js';
import type { InferInput, InferMessage } from './infer-message.js';

/** Where a request comes from. */
interface InferOrigin {
  /** When it came, on the service's clock. */
  readonly arrivalNs: number;
  /** How long its client waits, from then. */
  readonly timeoutNs: number;
  readonly trace: string | null;
  /** Whose turn in the codec threads it is. */
  readonly clientKey: string;
  /** The client has gone: what has not begun need not begin. */
  readonly isGone: boolean;
  /** Takes memory for it, or throws a refusal. */
  hold(bytes: number): void;
}

/** Who waits for the answer to a request. One of the two is called, once. */
export interface InferSink {
  /** `outputs`: indices of those that the client wants. */
  answered(call: Call, model: ServedModel, outputs: readonly number[]): void;
  refused(refusal: Refusal): void;
}

/** Typed contents up to this size are decoded in this thread. */
const SMALL_BYTES = 64 * KIB;

/** From the message of a ModelInfer to the service. */
export class GrpcInfer {
  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: FrontendSettings,
    private readonly codec: CodecPool,
  ) {}

  nowNs(): number {
    return this.service.nowNs();
  }

  /** Throws a refusal, or calls `sink` later. */
  start(message: InferMessage, origin: InferOrigin, sink: InferSink): void {
    const entry = this.catalog.find(message.modelName, message.modelVersion);
    const model = this.catalog.ready(entry);
    const sloMs = message.parameters?.get('slo_ms');
    const timeoutUs = message.parameters?.get('timeout');
    const sloNs = requestSloNs(sloMs, timeoutUs, model, this.settings.defaultSloNs);
    const inputs = new InputSet(model, this.settings);
    const typed = readInputs(message, inputs);
    const outputs = wantedOutputs(message, model.signature);
    const request = new Request(this.service, entry.index, model, inputs, outputs, sloNs, origin, sink);
    if (typed === null) request.submit();
    else this.decode(message, typed, request);
  }

  private decode(message: InferMessage, typed: Typed, request: Request): void {
    const { inputs, origin } = request;
    let bytes = 0;
    let spanBytes = 0;
    for (const index of typed.indices) bytes += inputs.bytesOf(index);
    for (const { spans } of typed.tensors) for (const { from, to } of spans) spanBytes += to - from;
    // An element is at most 8 bytes, and takes one at least: more than this is no tensor but a lie.
    if (bytes <= 8 * spanBytes) origin.hold(bytes);
    if (spanBytes <= SMALL_BYTES) {
      request.decoded(
        typed.indices,
        typed.tensors.map((tensor) => bytesOfContents(message.bytes, tensor)),
      );
      return;
    }
    const { buffer } = message.bytes;
    const transfer = buffer.byteLength === message.bytes.byteLength ? [buffer] : [];
    const job = { message: message.bytes, tensors: typed.tensors };
    this.codec.run('grpcContents', job, transfer, origin.clientKey, {
      coded: (tensors) => request.tryDecoded(typed.indices, tensors),
      notCoded: (refusal) => request.sink.refused(refusal),
    });
  }
}

/** Tensors whose contents are typed, with the inputs that they are for. */
interface Typed {
  readonly tensors: TypedTensor[];
  readonly indices: number[];
}

/** One request on its way to the service and back. */
class Request implements CallSink {
  constructor(
    private readonly service: InferenceService,
    private readonly index: number,
    private readonly model: ServedModel,
    readonly inputs: InputSet,
    private readonly outputs: readonly number[],
    private readonly sloNs: number,
    readonly origin: InferOrigin,
    readonly sink: InferSink,
  ) {}

  /** Throws a refusal. */
  decoded(indices: readonly number[], tensors: readonly Uint8Array[]): void {
    for (let i = 0; i < indices.length; i++) this.inputs.put(indices[i], tensors[i]);
    this.submit();
  }

  tryDecoded(indices: readonly number[], tensors: readonly Uint8Array[]): void {
    if (this.origin.isGone) return;
    try {
      this.decoded(indices, tensors);
    } catch (error) {
      this.sink.refused(asRefusal(error));
    }
  }

  /** Throws a refusal. */
  submit(): void {
    const { inputs, index, sloNs, origin } = this;
    const complete = inputs.complete();
    new Call(inputs.count, this).submit(this.service, {
      model: index,
      arrivalNs: origin.arrivalNs,
      sloNs: Math.min(sloNs, origin.timeoutNs),
      inputs: complete,
      shapes: inputs.shapes,
    });
  }

  answered(call: Call): void {
    const refusal = call.refusal();
    if (refusal === null) this.sink.answered(call, this.model, this.outputs);
    else this.sink.refused(refusal);
  }
}

/** Puts raw contents into `set`, and returns what has yet to be decoded. Throws a refusal. */
function readInputs({ inputs, raw }: InferMessage, set: InputSet): Typed | null {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new Refusal(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  let typed: Typed | null = null;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    checkTensorParameters(input.parameters, `input ${shown(input.name)}`);
    const index = set.claim(input.name, input.datatype, input.shape);
    if (raw.length > 0) {
      if (input.contents !== null)
        throw new Refusal('invalid', `input ${shown(input.name)}: has both contents and raw_input_contents`);
      set.put(index, raw[i]);
      continue;
    }
    typed ??= { tensors: [], indices: [] };
    typed.tensors.push(typedTensor(input, set, index));
    typed.indices.push(index);
  }
  return typed;
}

function typedTensor({ contents }: InferInput, set: InputSet, index: number): TypedTensor {
  const { name, datatype } = set.signatureOf(index);
  const count = set.bytesOf(index) / DATATYPES[datatype].bytes;
  return { name, datatype, count, spans: contents ?? [] };
}

function wantedOutputs({ outputs: wanted }: InferMessage, signature: ModelSignature): readonly number[] {
  if (wanted.length === 0) return signature.outputs.map((_, index) => index);
  if (wanted.length > signature.outputs.length)
    throw new Refusal(
      'invalid',
      `outputs: the model has ${signature.outputs.length}, the request names ${wanted.length}`,
    );
  const indices: number[] = [];
  for (const { name, parameters } of wanted) {
    const index = outputIndex(signature, name);
    if (indices.includes(index)) throw new Refusal('invalid', `output ${shown(name)}: named twice`);
    checkTensorParameters(parameters, `output ${shown(name)}`);
    indices.push(index);
  }
  return indices;
}

/** Parameters of a tensor that say what is so anyway, or how it travels over HTTP. */
const HARMLESS = new Set(['binary_data', 'binary_data_size', 'content_type']);

/** Throws a refusal for a parameter that would change what a tensor means. */
function checkTensorParameters(parameters: ReadonlyMap<string, unknown> | null, where: string): void {
  if (parameters === null) return;
  for (const name of parameters.keys()) {
    if (!HARMLESS.has(name))
      throw new Refusal('invalid', `${where}: parameter ${shown(name)} is not supported`);
  }
}
