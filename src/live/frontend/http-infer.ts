import type { ServedModel } from '../model.js';
import type { InferenceService, ModelEntry } from '../service.js';
import { Call, type CallSink } from './call.js';
import type { Catalog } from './catalog.js';
import type { FrontendSettings } from './frontend.js';
import { type InferBody, parseInferBody, type WantedOutput } from './http-infer-body.js';
import { sendBinary, sendJson, sendRefusal } from './http-reply.js';
import type { BodyReader, FrontendRequest, FrontendResponse } from './http-request.js';
import { jsonOfBytes } from './json-text.js';
import { asRefusal, type Refusal } from './refusal.js';

/** POST …/infer: from the body to the service and back. */
export class HttpInfer implements BodyReader {
  constructor(
    private readonly service: InferenceService,
    private readonly catalog: Catalog,
    private readonly settings: FrontendSettings,
  ) {}

  /** The whole body of a request whose `model` is known. */
  read(request: FrontendRequest, body: Buffer): void {
    try {
      const { service, catalog, settings } = this;
      const { name, version } = request.entry as ModelEntry;
      // It may have changed while the body came.
      const entry = catalog.find(name, version);
      const model = catalog.ready(entry);
      const parsed = parseInferBody(request, body, model, settings);
      const call = new Call(parsed.count, new Exchange(request, model, parsed));
      const { sloNs, inputs, shapes } = parsed;
      call.submit(service, { model: entry.index, arrivalNs: request.arrivalNs, sloNs, inputs, shapes });
    } catch (error) {
      sendRefusal(request, asRefusal(error));
    }
  }

  refuse(request: FrontendRequest, refusal: Refusal): void {
    sendRefusal(request, refusal);
  }
}

/** A client that waits for the answer to its call. */
class Exchange implements CallSink {
  private readonly id: string | null;
  private readonly outputs: readonly WantedOutput[];

  constructor(
    private readonly request: FrontendRequest,
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
    const response = this.request.response as FrontendResponse;
    if (tensors.length === 0) sendJson(response, 200, text);
    else sendBinary(response, text, tensors);
  }

  /** One output as JSON; its data goes into `tensors` if it was wanted as binary data. */
  private output({ index, binary }: WantedOutput, call: Call, tensors: Uint8Array[]): string {
    const { signature } = this.model;
    const { name, datatype } = signature.outputs[index];
    const dims = call.shapeOf(index, signature).join(',');
    const head = `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${dims}]`;
    if (binary) {
      let bytes = 0;
      for (const { outputs } of call.answers) {
        tensors.push(outputs[index]);
        bytes += outputs[index].length;
      }
      return `${head},"parameters":{"binary_data_size":${bytes}}}`;
    }
    let data = jsonOfBytes(datatype, call.answers[0].outputs[index]);
    for (let i = 1; i < call.count; i++) data += `,${jsonOfBytes(datatype, call.answers[i].outputs[index])}`;
    return `${head},"data":[${data}]}`;
  }
}
