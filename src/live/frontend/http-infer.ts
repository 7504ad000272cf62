import type { ServedModel } from '../model.js';
import type { InferenceService } from '../service.js';
import { Call, type CallSink } from './call.js';
import type { Catalog } from './catalog.js';
import type { DoorSettings } from './door.js';
import { type InferBody, parseInferBody, type WantedOutput } from './http-infer-body.js';
import { sendBinary, sendJson, sendRefusal } from './http-reply.js';
import type { BodyReader, DoorRequest, DoorResponse } from './http-request.js';
import { jsonOfBytes } from './json-text.js';
import { asRefusal, type Refusal } from './refusal.js';

/** POST …/infer: from the body to the service and back. */
export class HttpInfer implements BodyReader {
  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: DoorSettings,
  ) {}

  /** The whole body of a request whose `model` is known. */
  read(request: DoorRequest, body: Buffer): void {
    try {
      const { service, settings } = this;
      this.catalog.checkReady(request.model);
      const model = service.models[request.model];
      const parsed = parseInferBody(request, body, model, settings);
      const call = new Call(parsed.count, new Exchange(request, model, parsed));
      call.submit(service, request.model, parsed.sloNs, parsed.inputs);
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: DoorRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}

/** A client that waits for the answer to its call. */
class Exchange implements CallSink {
  private readonly id: string | null;
  private readonly outputs: readonly WantedOutput[];

  constructor(
    private readonly request: DoorRequest,
    private readonly model: ServedModel,
    { id, outputs }: InferBody,
  ) {
    this.id = id;
    this.outputs = outputs;
  }

  answered(call: Call): void {
    const refusal = call.refusal();
    if (refusal !== null) {
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
    const { model } = this;
    const id = this.id === null ? '' : `"id":${JSON.stringify(this.id)},`;
    const tensors: Uint8Array[] = [];
    let outputs = '';
    for (const wanted of this.outputs) {
      if (outputs !== '') outputs += ',';
      outputs += this.output(wanted, call, tensors);
    }
    const text = `{${id}"model_name":${JSON.stringify(model.spec.name)},"model_version":${JSON.stringify(model.version)},"parameters":{"batch_size":${call.batchSize},"slo_met":${call.sloMet}},"outputs":[${outputs}]}`;
    const response = this.request.response as DoorResponse;
    if (tensors.length === 0) sendJson(response, 200, text);
    else sendBinary(response, text, tensors);
  }

  /** One output as JSON; its data goes into `tensors` if it was wanted as binary data. */
  private output({ index, binary }: WantedOutput, call: Call, tensors: Uint8Array[]): string {
    const { signature } = this.model;
    const { name, datatype, shape, bytes } = signature.outputs[index];
    const dims = signature.batched ? [call.count, ...shape].join(',') : shape.join(',');
    const head = `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${dims}]`;
    if (binary) {
      for (const { outputs } of call.answers) tensors.push(outputs[index]);
      return `${head},"parameters":{"binary_data_size":${call.count * bytes}}}`;
    }
    let data = jsonOfBytes(name, datatype, call.answers[0].outputs[index]);
    for (let i = 1; i < call.count; i++)
      data += `,${jsonOfBytes(name, datatype, call.answers[i].outputs[index])}`;
    return `${head},"data":[${data}]}`;
  }
}
