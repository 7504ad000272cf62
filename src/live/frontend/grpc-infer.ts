import { DATATYPES, type ModelSignature, type ServedModel } from '../model.js';
import type { InferenceService } from '../service.js';
import { Call, type CallSink } from './call.js';
import type { Catalog } from './catalog.js';
import type { FrontendSettings } from './frontend.js';
import { bytesOfContents } from './grpc-contents.js';
import type { InferInputTensor, InferParameter, ModelInferRequest } from './grpc-messages.js';
import { InputSet } from './inputs.js';
import { outputIndex } from './outputs.js';
import { Refusal, refuseForeign, shown } from './refusal.js';
import { requestSloNs } from './slo.js';

/** Takes the response of a ModelInfer, or why there is none. */
type Answer = (refusal: Refusal | null, response: object | null) => void;

/** ModelInfer: from the message to the service and back. */
export class GrpcInfer {
  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: FrontendSettings,
  ) {}

  /**
   * `arrivalNs`: when the call came, on the service's clock; `leftNs`: how long the client waits from now. Throws a
   * refusal, or calls `answer` later.
   */
  start(request: ModelInferRequest, arrivalNs: number, leftNs: number, answer: Answer): void {
    const entry = this.catalog.find(request.model_name ?? '', request.model_version ?? '');
    const model = this.catalog.ready(entry);
    const inputs = new InputSet(model, this.settings);
    readInputs(request, inputs);
    const complete = inputs.complete();
    const outputs = wantedOutputs(request, model.signature);
    const { slo_ms: sloMs, timeout } = request.parameters ?? {};
    const sloNs = requestSloNs(
      parameterValue(sloMs),
      parameterValue(timeout),
      model,
      this.settings.defaultSloNs,
    );
    const exchange = new Exchange(answer, model, request.id ?? '', outputs);
    const clientNs = this.service.nowNs() + leftNs - arrivalNs;
    new Call(inputs.count, exchange).submit(this.service, {
      model: entry.index,
      arrivalNs,
      sloNs: Math.min(sloNs, clientNs),
      inputs: complete,
      shapes: inputs.shapes,
    });
  }
}

/** A client that waits for the response to its call. */
class Exchange implements CallSink {
  constructor(
    private readonly answer: Answer,
    private readonly model: ServedModel,
    private readonly id: string,
    /** Indices into the outputs of the model. */
    private readonly outputs: readonly number[],
  ) {}

  answered(call: Call): void {
    const refusal = call.refusal();
    if (refusal !== null) {
      this.answer(refusal, null);
      return;
    }
    const { spec, version, signature } = this.model;
    this.answer(null, {
      model_name: spec.name,
      model_version: version,
      id: this.id,
      parameters: { batch_size: { int64_param: call.batchSize }, slo_met: { bool_param: call.sloMet } },
      outputs: this.outputs.map((index) => {
        const { name, datatype } = signature.outputs[index];
        return { name, datatype, shape: call.shapeOf(index, signature) };
      }),
      raw_output_contents: this.outputs.map((index) =>
        call.count === 1
          ? call.answers[0].outputs[index]
          : Buffer.concat(call.answers.map(({ outputs }) => outputs[index])),
      ),
    });
  }
}

function readInputs({ inputs = [], raw_input_contents: raw = [] }: ModelInferRequest, set: InputSet): void {
  if (raw.length > 0 && raw.length !== inputs.length)
    throw new Refusal(
      'invalid',
      `raw_input_contents: expected ${inputs.length}, one for each input, got ${raw.length}`,
    );
  for (const [i, input] of inputs.entries()) {
    refuseForeign(input.parameters ?? {}, '', `input ${shown(input.name)}`);
    const index = set.claim(
      input.name ?? '',
      input.datatype ?? '',
      (input.shape ?? []).map((size) => size.toNumber()),
    );
    set.put(index, raw.length > 0 ? rawBytes(input, raw[i]) : typedBytes(input, set, index));
  }
}

function rawBytes({ name, contents }: InferInputTensor, raw: Uint8Array): Uint8Array {
  if (contents !== undefined)
    throw new Refusal('invalid', `input ${shown(name)}: has both contents and raw_input_contents`);
  return raw;
}

function typedBytes({ contents }: InferInputTensor, set: InputSet, index: number): Uint8Array {
  const { name, datatype } = set.signatureOf(index);
  return bytesOfContents(name, datatype, set.bytesOf(index) / DATATYPES[datatype].bytes, contents ?? {});
}

function wantedOutputs(
  { outputs: wanted = [] }: ModelInferRequest,
  signature: ModelSignature,
): readonly number[] {
  if (wanted.length === 0) return signature.outputs.map((_, index) => index);
  return wanted.map(({ name = '', parameters = {} }) => {
    const index = outputIndex(signature, name);
    refuseForeign(parameters, '', `output ${shown(name)}`);
    return index;
  });
}

/** Value of a parameter that is a number; anything else as it came, for a refusal to show. */
function parameterValue(parameter: InferParameter | undefined): unknown {
  const long = parameter?.int64_param ?? parameter?.uint64_param;
  if (long !== undefined) return long.toNumber();
  return parameter?.double_param ?? parameter?.string_param ?? parameter?.bool_param;
}
